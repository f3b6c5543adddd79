package postgres

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/lib/pq"

	"github.com/belfry-go/belfry/storage/internal/pgserver"
)

// newDialer is what a pool and a listener dial with.
func newDialer() *pgserver.Dialer {
	return &pgserver.Dialer{Dialled: func(ctx context.Context, c *pgserver.Conn) {
		if a, ok := ctx.Value(attemptKey{}).(*attempt); ok {
			a.dialled(c)
		}
	}}
}

type attemptKey struct{}

// attempt is one call of Connect, which may dial several hosts in turn. The
// driver's handshake ignores the context, so the attempt does not.
type attempt struct {
	mu    sync.Mutex
	last  *pgserver.Conn // what the driver works on
	ended bool
}

func (a *attempt) dialled(c *pgserver.Conn) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.last != nil {
		_ = a.last.Close() // the driver gave it up, and did not always close it
	}
	a.last = c
	if a.ended {
		c.Expire(0)
	}
}

func (a *attempt) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ended = true
	if a.last != nil {
		a.last.Expire(0)
	}
}

func (a *attempt) conn() *pgserver.Conn {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.last
}

const (
	minRelisten = 100 * time.Millisecond
	maxRelisten = time.Minute
)

// listener makes the function that listens on dsn until its context ends.
func listener(dsn string) func(ctx context.Context, hear func(payload string)) {
	return func(ctx context.Context, hear func(payload string)) {
		d := &listenDialer{Dialer: newDialer()}
		l := pq.NewDialListener(d, dsn, minRelisten, maxRelisten, nil)
		subscribed := make(chan struct{})
		go func() {
			defer close(subscribed)
			_ = l.Listen(pgserver.Channel) // waits for a connection, or for Close
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
	*pgserver.Dialer
	attempt
}

func (d *listenDialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return d.Dialer.DialContext(context.WithValue(ctx, attemptKey{}, &d.attempt), network, address)
}
