package postgres

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"net"
	"sync"
	"time"

	"github.com/lib/pq"

	"github.com/belfry-go/belfry/storage/driver"
)

const (
	channel     = "belfry"
	tellBound   = time.Second
	minRelisten = 100 * time.Millisecond
	maxRelisten = time.Minute
)

// hint is the payload of a NOTIFY.
type hint struct {
	From   string `json:"from"` // the store that committed
	Tables string `json:"tables"`
	Table  string `json:"table"`
	Due    int64  `json:"due"` // microseconds since 1970
}

// herald passes hints about due rows between the processes on one database. It
// tells them after the commit and on a connection of its own, since NOTIFY takes
// a lock that all committing transactions share, and merges those that it has
// not told yet. A hint that is lost costs nothing but time: polls find the row.
type herald struct {
	self   string // a store does not listen to itself
	tables string // tells stores on other tables of the database apart
	db     *sql.DB
	waker  *driver.Waker

	fresh   chan struct{} // there is something to tell
	mu      sync.Mutex
	pending driver.Hints

	stop    context.CancelFunc
	running sync.WaitGroup
}

func newHerald(db *sql.DB, tables string, waker *driver.Waker) *herald {
	return &herald{self: rand.Text(), tables: tables, db: db, waker: waker, fresh: make(chan struct{}, 1)}
}

// start tells hints, and listens to those of others, until Close.
func (h *herald) start(listen func(context.Context, func(payload string))) {
	var ctx context.Context
	ctx, h.stop = context.WithCancel(context.Background())
	h.running.Go(func() { h.tellAll(ctx) })
	h.running.Go(func() { listen(ctx, h.hear) })
}

// Close tells what is not told yet, within tellBound, and ends what start began: a
// process that makes rows due and ends at once is heard like any other.
func (h *herald) Close() {
	h.stop()
	h.running.Wait()
}

// committed notes what a transaction made due.
func (h *herald) committed(hints driver.Hints) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.pending == nil {
		h.pending = driver.Hints{}
	}
	for table, due := range hints {
		if first, ok := h.pending[table]; !ok || due.Before(first) {
			h.pending[table] = due
		}
	}
	select {
	case h.fresh <- struct{}{}:
	default:
	}
}

func (h *herald) take() driver.Hints {
	h.mu.Lock()
	defer h.mu.Unlock()
	hints := h.pending
	h.pending = nil
	return hints
}

func (h *herald) tellAll(ctx context.Context) {
	telling := context.WithoutCancel(ctx)
	for {
		select {
		case <-ctx.Done():
			_ = h.tell(telling, h.take())
			return
		case <-h.fresh:
			_ = h.tell(telling, h.take())
		}
	}
}

func (h *herald) tell(ctx context.Context, hints driver.Hints) error {
	if len(hints) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, tellBound)
	defer cancel()
	return onConn(ctx, h.db, func(c *sql.Conn) error {
		for table, due := range hints {
			payload, err := json.Marshal(hint{h.self, h.tables, table, due.UnixMicro()})
			if err != nil {
				return err
			}
			if _, err := c.ExecContext(ctx, "SELECT pg_notify($1, $2)", channel, string(payload)); err != nil {
				return err
			}
		}
		return nil
	})
}

// hear wakes the pollers of this process. What is not a hint for it is passed
// over: anybody may NOTIFY.
func (h *herald) hear(payload string) {
	var in hint
	if json.Unmarshal([]byte(payload), &in) != nil || in.From == h.self || in.Tables != h.tables {
		return
	}
	h.waker.Wake(in.Table, time.UnixMicro(in.Due).UTC())
}

// listener makes the function that listens on dsn until its context ends.
func listener(dsn string) func(ctx context.Context, hear func(payload string)) {
	return func(ctx context.Context, hear func(payload string)) {
		d := &listenDialer{}
		l := pq.NewDialListener(d, dsn, minRelisten, maxRelisten, nil)
		subscribed := make(chan struct{})
		go func() {
			defer close(subscribed)
			_ = l.Listen(channel) // waits for a connection, or for Close
		}()
		for ctx.Err() == nil {
			select {
			case <-ctx.Done():
			case n := <-l.NotificationChannel():
				if n != nil { // nil: it was disconnected for a while
					hear(n.Extra)
				}
			}
		}
		d.end() // or Close could wait for a silent network
		_ = l.Close()
		<-subscribed
	}
}

// listenDialer dials for a listener until its attempt has ended. Its reads have
// no bound: most of the time there is nothing to hear.
type listenDialer struct {
	dialer
	attempt
}

func (d *listenDialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return d.dialer.DialContext(context.WithValue(ctx, attemptKey{}, &d.attempt), network, address)
}
