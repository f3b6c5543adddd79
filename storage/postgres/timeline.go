package postgres

import "time"

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
