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

// netConn is a network connection on which no read and no write takes longer
// than a bound, or goes on after the connection has expired.
type netConn struct {
	net.Conn
	bound *atomic.Int64 // of one read or write, in nanoseconds; 0: none

	broken atomic.Bool

	mu      sync.Mutex
	limit   time.Time // the driver's deadline; zero: none
	expires time.Time // ours; zero: none
}

func (c *netConn) Read(b []byte) (int, error) {
	if err := c.arm(c.Conn.SetReadDeadline); err != nil {
		return 0, err
	}
	n, err := c.Conn.Read(b)
	return n, c.note(err)
}

func (c *netConn) Write(b []byte) (int, error) {
	if err := c.arm(c.Conn.SetWriteDeadline); err != nil {
		return 0, err
	}
	n, err := c.Conn.Write(b)
	return n, c.note(err)
}

func (c *netConn) note(err error) error {
	if err != nil {
		c.broken.Store(true)
	}
	return err
}

// SetDeadline is what the driver bounds its handshake with.
func (c *netConn) SetDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.limit = t
	return c.Conn.SetDeadline(c.deadline())
}

// expire makes whatever goes on, and all that follows, fail after d at the
// latest.
func (c *netConn) expire(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.expires = time.Now().Add(d)
	if err := c.Conn.SetDeadline(c.deadline()); err != nil {
		c.broken.Store(true) // it is closed
	}
}

func (c *netConn) arm(set func(time.Time) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.note(set(c.deadline()))
}

func (c *netConn) deadline() time.Time {
	var first time.Time
	if d := time.Duration(c.bound.Load()); d > 0 {
		first = time.Now().Add(d)
	}
	for _, t := range []time.Time{c.limit, c.expires} {
		if !t.IsZero() && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	return first
}
