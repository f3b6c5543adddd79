package postgres

import (
	"net"
	"sync"
	"sync/atomic"
	"time"
)

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
