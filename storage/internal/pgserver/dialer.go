package pgserver

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/benbjohnson/clock"
)

// realClock is what the network goes by, whatever the server's clock shows.
var realClock = clock.New()

// Grace is how long a call on a silent network may go on after its context has ended; a
// COMMIT is given up before that.
const Grace = 750 * time.Millisecond

// Dialer makes the network connections of a pool, those that cancel a statement
// included, with bounded reads and writes.
type Dialer struct {
	net.Dialer
	// Dialled, if not nil, is told of each connection.
	Dialled func(context.Context, *Conn)
	// Life, if not nil, ends attempts to connect when it ends, and connections Grace
	// later: a driver may close them behind a call, and wait for a silent network.
	Life context.Context

	bound atomic.Int64 // see Conn
}

// Bound is how long one read or write may take from now on; zero is for ever.
func (d *Dialer) Bound(bound time.Duration) { d.bound.Store(int64(bound)) }

// Patiently runs the migrations without the bound on reads and writes, which holds
// afterwards: building an index takes long.
func (d *Dialer) Patiently(bound time.Duration, migrate func() error) error {
	d.Bound(0)
	defer d.Bound(bound)
	return migrate()
}

// DialContext is how lib/pq and pgx dial.
func (d *Dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	life := d.Life
	if life == nil {
		life = context.Background()
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(life, cancel)()
	raw, err := d.Dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	c := &Conn{Conn: raw, bound: &d.bound}
	c.forget = context.AfterFunc(life, func() { c.Expire(Grace) })
	if d.Dialled != nil {
		d.Dialled(ctx, c)
	}
	return c, nil
}

// Dial is what pq.Dialer asks for; lib/pq prefers DialContext.
func (d *Dialer) Dial(network, address string) (net.Conn, error) {
	return d.DialContext(context.Background(), network, address)
}

// DialTimeout is like Dial.
func (d *Dialer) DialTimeout(network, address string, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return d.DialContext(ctx, network, address)
}

// Conn is a network connection on which no read and no write takes longer
// than a bound, or goes on after the connection has expired.
type Conn struct {
	net.Conn
	bound  *atomic.Int64 // of one read or write, in nanoseconds; 0: none
	forget func() bool   // ends the watch of the dialer's life

	broken atomic.Bool

	mu      sync.Mutex
	limit   time.Time // the driver's deadline; zero: none
	expires time.Time // ours; zero: none
}

func (c *Conn) Read(b []byte) (int, error) {
	if err := c.arm(c.Conn.SetReadDeadline); err != nil {
		return 0, err
	}
	n, err := c.Conn.Read(b)
	return n, c.note(err)
}

func (c *Conn) Write(b []byte) (int, error) {
	if err := c.arm(c.Conn.SetWriteDeadline); err != nil {
		return 0, err
	}
	n, err := c.Conn.Write(b)
	return n, c.note(err)
}

// Close closes the connection.
func (c *Conn) Close() error {
	c.forget()
	return c.Conn.Close()
}

// Broken says that a read or a write has failed.
func (c *Conn) Broken() bool { return c.broken.Load() }

func (c *Conn) note(err error) error {
	if err != nil {
		c.broken.Store(true)
	}
	return err
}

// SetDeadline is what the driver bounds its handshake with.
func (c *Conn) SetDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.limit = t
	return c.Conn.SetDeadline(c.deadline())
}

// Expire makes whatever goes on, and all that follows, fail after d at the
// latest.
func (c *Conn) Expire(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.expires = realClock.Now().Add(d)
	if err := c.Conn.SetDeadline(c.deadline()); err != nil {
		c.broken.Store(true) // it is closed
	}
}

func (c *Conn) arm(set func(time.Time) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.note(set(c.deadline()))
}

func (c *Conn) deadline() time.Time {
	var first time.Time
	if d := time.Duration(c.bound.Load()); d > 0 {
		first = realClock.Now().Add(d)
	}
	for _, t := range []time.Time{c.limit, c.expires} {
		if !t.IsZero() && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	return first
}
