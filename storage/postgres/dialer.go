package postgres

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// dialer makes the network connections of a pool, those that cancel a statement
// included, with bounded reads and writes.
type dialer struct {
	net.Dialer
	bound atomic.Int64 // see netConn
}

// DialContext is how lib/pq dials.
func (d *dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	raw, err := d.Dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	c := &netConn{Conn: raw, bound: &d.bound}
	if a, ok := ctx.Value(attemptKey{}).(*attempt); ok {
		a.dialled(c)
	}
	return c, nil
}

// Dial is what pq.Dialer asks for; lib/pq prefers DialContext.
func (d *dialer) Dial(network, address string) (net.Conn, error) {
	return d.DialContext(context.Background(), network, address)
}

// DialTimeout is like Dial.
func (d *dialer) DialTimeout(network, address string, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return d.DialContext(ctx, network, address)
}

type attemptKey struct{}

// attempt is one call of Connect, which may dial several hosts in turn. The
// driver's handshake ignores the context, so the attempt does not.
type attempt struct {
	mu    sync.Mutex
	last  *netConn // what the driver works on
	ended bool
}

func (a *attempt) dialled(c *netConn) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.last != nil {
		_ = a.last.Close() // the driver gave it up, and did not always close it
	}
	a.last = c
	if a.ended {
		c.expire(0)
	}
}

func (a *attempt) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ended = true
	if a.last != nil {
		a.last.expire(0)
	}
}

func (a *attempt) conn() *netConn {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.last
}
