package pgserver

import (
	"context"
	"sync"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/storage/internal/sqlstore"
)

const (
	rereadEvery = time.Minute
	retryEvery  = time.Second // after a reading that failed
	rereadBound = 5 * time.Second
)

// source looks at the server's clock once, timing itself by elapsed.
type source func(ctx context.Context, elapsed func() time.Duration) (reading, error)

// Clock is a [clock.Clock] that shows the server's time. Timers, tickers
// and sleeps are those of the machine, and so are the values in their channels:
// ask Now for the time.
type Clock struct {
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

// Follow reads the clock of the server behind pool once, and follows it until Close.
func Follow(ctx context.Context, pool sqlstore.Pool) (*Clock, error) {
	local := clock.New()
	return newClock(ctx, local, monotonic(local), serverTime(pool))
}

// unsure is how far the clock may be off of a server that was never there.
const unsure = time.Hour

// FollowLater follows the clock of a server that is away now: until the first reading it
// is the machine's, and too unsure for anything to be claimed.
func FollowLater(ctx context.Context, pool sqlstore.Pool) *Clock {
	local := clock.New()
	c := makeClock(local, monotonic(local), serverTime(pool))
	now := local.Now().UTC()
	c.line = at(c.elapsed(), now, now.Add(-unsure), now.Add(unsure))
	c.begin(ctx, retryEvery)
	return c
}

// newClock reads the server's clock once, and follows it until Close.
func newClock(ctx context.Context, local clock.Clock, elapsed func() time.Duration, read source) (*Clock, error) {
	c := makeClock(local, elapsed, read)
	if err := c.reread(ctx); err != nil {
		return nil, err
	}
	c.begin(ctx, rereadEvery)
	return c, nil
}

func makeClock(local clock.Clock, elapsed func() time.Duration, read source) *Clock {
	return &Clock{
		Clock:   local,
		elapsed: elapsed,
		read:    read,
		again:   make(chan struct{}, 1),
		stopped: make(chan struct{}),
	}
}

// begin follows the server's clock until Close.
func (c *Clock) begin(ctx context.Context, first time.Duration) {
	ctx, c.stop = context.WithCancel(context.WithoutCancel(ctx))
	go c.follow(ctx, c.Timer(first))
}

// follow reads the clock each minute and when asked to. A reading that fails
// changes nothing: the uncertainty grows with time until one succeeds.
func (c *Clock) follow(ctx context.Context, next *clock.Timer) {
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

func (c *Clock) reread(ctx context.Context) error {
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
func (c *Clock) Reconnected() {
	select {
	case c.again <- struct{}{}:
	default:
	}
}

// Close stops following the server. The clock goes on from its last reading.
func (c *Clock) Close() {
	c.stop()
	<-c.stopped
}

// Now is the server's time, in UTC. It never goes back.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.line.now(c.elapsed())
}

// Since is the time that has passed since the server's moment t.
func (c *Clock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// Until is the time that is left until the server's moment t.
func (c *Clock) Until(t time.Time) time.Duration { return t.Sub(c.Now()) }

// WithDeadline ends the context at the server's moment d.
func (c *Clock) WithDeadline(parent context.Context, d time.Time) (context.Context, context.CancelFunc) {
	return c.Clock.WithTimeout(parent, c.Until(d))
}

// WithTimeout ends the context after t of the machine's monotonic time.
func (c *Clock) WithTimeout(parent context.Context, t time.Duration) (context.Context, context.CancelFunc) {
	return c.Clock.WithTimeout(parent, t)
}

// Uncertainty is how far Now may be from the server's time. A worker stops
// claiming when it passes a quarter of its lease.
func (c *Clock) Uncertainty() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.line.uncertainty(c.elapsed())
}

const (
	// drift is the share by which a machine's monotonic clock may be wrong: one
	// part in 5,000, twice what is usual for quartz.
	drift = 5000
	// resolution is the step of the server's clock.
	resolution = time.Microsecond
)

// reading is one look at the server's clock: asked at sent and answered at
// received (local monotonic time), it showed server at some moment in between.
type reading struct {
	sent, received time.Duration
	server         time.Time
}

// timeline maps local monotonic time to the server's time: pure arithmetic.
// The zero timeline knows nothing.
type timeline struct {
	at    time.Duration // local moment of the last correction
	shown time.Time     // what the clock showed then
	off   time.Duration // the server's time less shown, then
	err   time.Duration // how wrong shown+off may have been, then
}

// now is what the clock shows at the local moment t, which is not before the
// last correction. A clock that was behind goes forward at once; one that was
// ahead runs at half speed until the server has caught up, and so never goes
// back.
func (l timeline) now(t time.Duration) time.Time {
	passed := t - l.at
	if l.off >= 0 {
		return l.shown.Add(l.off + passed)
	}
	return l.shown.Add(passed + max(l.off, -passed/2))
}

// truth is the best estimate of the server's time at t.
func (l timeline) truth(t time.Duration) time.Time { return l.shown.Add(l.off + t - l.at) }

// bound is how wrong truth may be at t.
func (l timeline) bound(t time.Duration) time.Duration { return l.err + (t-l.at)/drift }

// uncertainty is how wrong now may be at t.
func (l timeline) uncertainty(t time.Duration) time.Duration {
	return l.bound(t) + l.now(t).Sub(l.truth(t))
}

// next corrects the timeline at t by a reading. A slow answer says little, so
// the reading only narrows what was known, unless the two contradict each
// other: then the server's clock was set, or it is another server.
func (l timeline) next(r reading, t time.Duration) timeline {
	slack := (t-r.sent)/drift + resolution
	from, to := r.server.Add(t-r.received-slack), r.server.Add(t-r.sent+slack)
	if l.shown.IsZero() {
		return at(t, middle(from, to), from, to)
	}
	truth, bound := l.truth(t), l.bound(t)
	if f, u := later(from, truth.Add(-bound)), earlier(to, truth.Add(bound)); !u.Before(f) {
		from, to = f, u
	}
	return at(t, l.now(t), from, to)
}

// at is a timeline that shows shown at t, when the truth is between from and to.
func at(t time.Duration, shown, from, to time.Time) timeline {
	return timeline{at: t, shown: shown, off: middle(from, to).Sub(shown), err: to.Sub(from) / 2}
}

func middle(from, to time.Time) time.Time { return from.Add(to.Sub(from) / 2) }

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
