package pgserver

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"sync"
	"time"

	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/internal/sqlstore"
)

// Channel is the name under which hints are told.
const Channel = "belfry"

const tellBound = time.Second

// hint is the payload of a NOTIFY.
type hint struct {
	From   string `json:"from"` // the store that committed
	Tables string `json:"tables"`
	Table  string `json:"table"`
	Status string `json:"status,omitempty"` // older versions tell none
	Due    int64  `json:"due"`              // microseconds since 1970
}

// Herald passes hints about due rows between the processes on one database. It
// tells them after the commit and on a connection of its own, since NOTIFY takes
// a lock that all committing transactions share, and merges those that it has
// not told yet. A hint that is lost costs nothing but time: polls find the row.
type Herald struct {
	self   string // a store does not listen to itself
	tables string // tells stores on other tables of the database apart
	pool   sqlstore.Pool
	waker  *driver.Waker

	fresh   chan struct{} // there is something to tell
	mu      sync.Mutex
	pending driver.Hints

	stop    context.CancelFunc
	running sync.WaitGroup
}

// NewHerald makes one for a store on tables, which says the schema and the prefix.
func NewHerald(pool sqlstore.Pool, tables string, waker *driver.Waker) *Herald {
	return &Herald{self: rand.Text(), tables: tables, pool: pool, waker: waker, fresh: make(chan struct{}, 1)}
}

// Start tells hints, and listens to those of others, until Close.
func (h *Herald) Start(listen func(context.Context, func(payload string))) {
	var ctx context.Context
	ctx, h.stop = context.WithCancel(context.Background())
	h.running.Go(func() { h.tellAll(ctx) })
	h.running.Go(func() { listen(ctx, h.hear) })
}

// Close tells what is not told yet, within tellBound, and ends what Start began: a
// process that makes rows due and ends at once is heard like any other.
func (h *Herald) Close() {
	h.stop()
	h.running.Wait()
}

// Committed notes what a transaction made due.
func (h *Herald) Committed(hints driver.Hints) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pending.Merge(hints)
	select {
	case h.fresh <- struct{}{}:
	default:
	}
}

// Take gives what waits to be told, which then is not.
func (h *Herald) Take() driver.Hints {
	h.mu.Lock()
	defer h.mu.Unlock()
	hints := h.pending
	h.pending = nil
	return hints
}

func (h *Herald) tellAll(ctx context.Context) {
	telling := context.WithoutCancel(ctx)
	for {
		select {
		case <-ctx.Done():
			_ = h.tell(telling, h.Take())
			return
		case <-h.fresh:
			_ = h.tell(telling, h.Take())
		}
	}
}

func (h *Herald) tell(ctx context.Context, hints driver.Hints) error {
	if len(hints) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, tellBound)
	defer cancel()
	return On(ctx, h.pool, func(c sqlstore.Runner) error {
		for of, due := range hints {
			payload, err := json.Marshal(hint{h.self, h.tables, of.Table, of.Status, due.UnixMicro()})
			if err != nil {
				return err
			}
			if _, err := c.Exec(ctx, "SELECT pg_notify($1, $2)", Channel, string(payload)); err != nil {
				return err
			}
		}
		return nil
	})
}

// hear wakes the pollers of this process. What is not a hint for it is passed
// over: any session may NOTIFY.
func (h *Herald) hear(payload string) {
	var in hint
	if json.Unmarshal([]byte(payload), &in) != nil || in.From == h.self || in.Tables != h.tables {
		return
	}
	h.waker.Wake(driver.Hint{Table: in.Table, Status: in.Status}, time.UnixMicro(in.Due).UTC())
}
