package work

import (
	"context"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/storage/driver"
)

// lookBack paces the claims that start at the beginning of the due order, behind
// the forward cursor. Such a claim finds rows that became due in the past and
// leases that ran out, but has to walk over everything that is held or served by
// others, so it may take at most a twentieth of the time.
type lookBack struct {
	clock  clock.Clock
	last   time.Time
	took   time.Duration
	hinted bool // this process saved a row at or before the cursor
}

func (l *lookBack) pause() time.Duration { return 20 * l.took }

func (l *lookBack) since() time.Duration {
	if l.last.IsZero() {
		return 1<<63 - 1
	}
	return l.clock.Since(l.last)
}

// allowed says whether a short forward claim may be followed by a look-back.
func (l *lookBack) allowed() bool { return l.since() >= l.pause() }

// overdue says whether a look-back comes first although there is enough ahead.
func (l *lookBack) overdue() bool {
	if l.hinted {
		return l.allowed()
	}
	return l.since() >= l.bound()
}

// bound is how long a row behind the cursor waits at most.
func (l *lookBack) bound() time.Duration { return max(time.Second, l.pause()) }

// measure runs f as a look-back.
func (l *lookBack) measure(f func() error) error {
	start := l.clock.Now()
	l.hinted = false
	err := f()
	l.last = l.clock.Now()
	l.took = l.last.Sub(start)
	return err
}

// lookBack claims from the start of the due order. A lane that has a whole quota
// there is continued from there.
func (r *runner[R, A]) lookBack(ctx context.Context, ln *line, n int) (rows []*R, err error) {
	asked := ln.open.share(n)
	err = ln.look.measure(func() error {
		rows, err = r.take(ctx, ln, asked)
		return err
	})
	if err != nil {
		return nil, err
	}
	last := map[int16]driver.Cursor{}
	got := r.count(ln, rows, func(l *lane, c driver.Cursor) { last[l.number] = c })
	for lane, c := range last {
		if l := ln.lanes.get(lane); got[lane] == limitOf(asked, lane) && c.Before(l.at.DueOn, l.at.ID) {
			l.at = c
		}
	}
	r.tel.lookedBack(ctx, ln.look.bound())
	return rows, nil
}
