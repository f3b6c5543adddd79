package postgres

import (
	"context"
	"sync"
	"time"

	"github.com/benbjohnson/clock"
)

const (
	rereadEvery = time.Minute
	retryEvery  = time.Second // after a reading that failed
	rereadBound = 5 * time.Second
)

// source looks at the server's clock once, timing itself by elapsed.
type source func(ctx context.Context, elapsed func() time.Duration) (reading, error)

// serverClock is a [clock.Clock] that shows the server's time. Timers, tickers
// and sleeps are those of the machine, and so are the values in their channels:
// ask Now for the time.
type serverClock struct {
	clock.Clock
	elapsed func() time.Duration // monotonic, since the clock was made
	read    source
	again   chan struct{} // asks for a reading
	stop    context.CancelFunc
	stopped chan struct{}

	mu   sync.Mutex
	line timeline
}

// monotonic counts from now on with local's monotonic clock, which a step of
// the wall clock does not move.
func monotonic(local clock.Clock) func() time.Duration {
	start := local.Now()
	return func() time.Duration { return local.Since(start) }
}

// newServerClock reads the server's clock once, and follows it until Close.
func newServerClock(ctx context.Context, local clock.Clock, elapsed func() time.Duration, read source) (*serverClock, error) {
	c := &serverClock{
		Clock:   local,
		elapsed: elapsed,
		read:    read,
		again:   make(chan struct{}, 1),
		stopped: make(chan struct{}),
	}
	if err := c.reread(ctx); err != nil {
		return nil, err
	}
	ctx, c.stop = context.WithCancel(context.WithoutCancel(ctx))
	go c.follow(ctx, local.Timer(rereadEvery))
	return c, nil
}

// follow reads the clock each minute and when asked to. A reading that fails
// changes nothing: the uncertainty grows with time until one succeeds.
func (c *serverClock) follow(ctx context.Context, next *clock.Timer) {
	defer close(c.stopped)
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-next.C:
		case <-c.again:
		}
		wait := rereadEvery
		if c.reread(ctx) != nil {
			wait = retryEvery
		}
		next.Reset(wait)
		select { // what asked meanwhile may have been this very reading's connection
		case <-c.again:
		default:
		}
	}
}

func (c *serverClock) reread(ctx context.Context) error {
	ctx, cancel := c.Clock.WithTimeout(ctx, rereadBound)
	defer cancel()
	r, err := c.read(ctx, c.elapsed)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.line = c.line.next(r, c.elapsed())
	return nil
}

// Reconnected asks for a reading soon, since the server may be another one.
func (c *serverClock) Reconnected() {
	select {
	case c.again <- struct{}{}:
	default:
	}
}

// Close stops following the server. The clock goes on from its last reading.
func (c *serverClock) Close() {
	c.stop()
	<-c.stopped
}

// Now is the server's time, in UTC. It never goes back.
func (c *serverClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.line.now(c.elapsed())
}

// Since is the time that has passed since the server's moment t.
func (c *serverClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// Until is the time that is left until the server's moment t.
func (c *serverClock) Until(t time.Time) time.Duration { return t.Sub(c.Now()) }

// WithDeadline ends the context at the server's moment d.
func (c *serverClock) WithDeadline(parent context.Context, d time.Time) (context.Context, context.CancelFunc) {
	return c.Clock.WithTimeout(parent, c.Until(d))
}

// WithTimeout ends the context after t of the machine's monotonic time.
func (c *serverClock) WithTimeout(parent context.Context, t time.Duration) (context.Context, context.CancelFunc) {
	return c.Clock.WithTimeout(parent, t)
}

// Uncertainty is how far Now may be from the server's time. A worker stops
// claiming when it passes a quarter of its lease.
func (c *serverClock) Uncertainty() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.line.uncertainty(c.elapsed())
}
