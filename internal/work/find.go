package work

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// find claims at most n rows of a line, and passes on what it gets as soon as it has it.
// When it finds none it tells the next due moment within the polling interval, if there
// is one. forced looks everywhere however short ago the last look-back was: only then
// does "nothing" mean nothing.
func (r *runner[R, A]) find(ctx context.Context, l *line, n int, forced bool, pass func([]*R)) (found int, next time.Time, err error) {
	find := func(more []*R, err error) error {
		if found += len(more); len(more) > 0 {
			pass(more)
		}
		return err
	}
	everywhere := l.open // a row behind the cursor may be what the peek saw
	if !forced {
		n = max(n-r.underway(l), 1)
		if err := find(r.newcomers(ctx, l, max(n/4, 1))); err != nil {
			return found, next, err
		}
	}
	passed := l.lanes.furthest()
	hot, behind := l.hot && !l.narrow(), passed != driver.Cursor{}
	if !hot {
		if err := r.askFirst(ctx); err != nil {
			return found, next, err
		}
		if !forced {
			if err := find(r.lookSlowly(ctx, l, max(n/4, 1))); err != nil {
				return found, next, err
			}
			everywhere = r.looking(l, func(lane *lane) bool { return lane.look.allowed() })
		}
		now := r.now()
		next, err = r.peek(ctx, l, everywhere)
		if err == nil && (next.IsZero() || next.After(now)) {
			r.ended(l, now)
		}
		if err != nil || next.IsZero() || next.After(r.now()) {
			return found, next, err
		}
		behind = !next.After(passed.DueOn)
	}
	if late := r.looking(l, func(lane *lane) bool { return lane.look.overdue() }); len(late) > 0 && !forced {
		if err := find(r.lookBack(ctx, l, late, max(n/4, 1), forced)); err != nil {
			return found, next, err
		}
	}
	now := r.now()
	if err := find(r.forward(ctx, l, n-found, forced)); err != nil {
		return found, next, err
	}
	if hot = found >= enough(n, forced); !hot && behind {
		if err := find(r.behind(ctx, l, everywhere, n-found, forced)); err != nil {
			return found, next, err
		}
		hot = found >= enough(n, forced)
	}
	if !hot {
		r.ended(l, now)
	}
	if !l.narrow() {
		l.hot = hot
	}
	// What the peek saw may be in other hands: it says nothing about when to wake.
	return found, time.Time{}, nil
}

// turn claims for every line that has room, and passes on what each gets. next is
// the earliest due moment within the polling interval, as far as it is known. What it
// was too early for is in again.
func (r *runner[R, A]) turn(ctx context.Context, launch func(*line, []*R)) (n int, next time.Time, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.clockTrusted(); err != nil {
		return 0, next, err
	}
	r.asking.again()
	r.again = time.Time{}
	for _, l := range r.lines() {
		rows, err := r.landed(ctx, l)
		if n += len(rows); len(rows) > 0 {
			launch(l, rows)
		}
		if err != nil {
			return n, next, err
		}
	}
	r.setAside()
	hot := false
	for _, l := range r.lines() {
		room := r.room(l)
		if room == 0 {
			continue
		}
		if r.glanced(l) > 0 {
			continue
		}
		asides, flooded := len(r.asides), len(r.floods()) > 0
		found, due, err := r.find(l.patient(ctx), l, room, false, func(rows []*R) {
			r.beside(l, flooded)
			launch(l, rows)
		})
		l.asked = r.mono.Now()
		if err != nil {
			return n, next, err
		}
		next = earlier(next, due)
		n, hot = n+found, hot || l.hot && !l.narrow()
		if len(r.asides) > asides {
			l.hot = false // it may have to walk over what was set aside: by reading first
		} else {
			r.rejoin(l)
		}
	}
	r.again = r.early()
	r.hot.Store(hot)
	r.flooded.Store(len(r.floods()) > 0)
	return n, next, nil
}

// early is when to turn again for what a turn is too early for; zero: there is nothing.
func (r *runner[R, A]) early() (at time.Time) {
	for _, l := range r.lines() {
		if wait := r.glanced(l); wait > 0 {
			at = earlier(at, r.mono.Now().Add(wait))
		} else {
			at = earlier(at, r.hinted(l))
		}
	}
	return at
}

// earlier is the first of two moments that there are.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// pollOnce claims what is due, whatever is set aside.
func (r *runner[R, A]) pollOnce(ctx context.Context, n int) (rows []*R, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.clockTrusted(); err != nil {
		return nil, err
	}
	r.asking.again()
	_, _, err = r.find(ctx, r.all, n, true, func(more []*R) { rows = append(rows, more...) })
	return rows, err
}

// ended notes that a line came to the end of what was due at a moment.
func (r *runner[R, A]) ended(l *line, at time.Time) {
	if (l.of == theRest || l.of == oneKind) && len(r.asides) > 0 {
		l.passed(at)
	}
}

// enough says how many rows make a claim full. A running poller does not ask
// again for the last quarter; a single poll takes what it was asked for.
func enough(n int, forced bool) int {
	if forced {
		return n
	}
	return max(n*3/4, 1)
}

// clockTrusted refuses to claim while the store's idea of the time may be off by
// more than a quarter of a lease.
func (r *runner[R, A]) clockTrusted() error {
	c, ok := r.store.Clock().(interface{ Uncertainty() time.Duration })
	if ok && c.Uncertainty() > r.o.Lease/4 {
		return fmt.Errorf("work: the clock may be off by %v, which is too much for a lease of %v: %w", c.Uncertainty(), r.o.Lease, storage.ErrUnavailable)
	}
	return nil
}

// peek is the idle poll: one SELECT, which looks from the start in some lanes.
func (r *runner[R, A]) peek(ctx context.Context, l *line, everywhere lanes) (next time.Time, err error) {
	from, now := r.mono.Now(), r.now()
	c := r.asking.known().from(r.claim(l, l.open.all(everywhere)))
	c.Now, c.Expired = now, r.expired()
	next, err = r.store.Next(ctx, &r.spec.Table.Schema, c, now.Add(r.o.Interval))
	r.heard(err)
	to := r.mono.Now()
	l.peeked = to.Sub(from)
	for _, lane := range everywhere {
		lane.look.hinted = false
		lane.look.measured(from, to)
	}
	return next, err
}

func (r *runner[R, A]) forward(ctx context.Context, l *line, n int, forced bool) ([]*R, error) {
	var all []*R
	open, asides := l.open, len(r.asides)
	for n > 0 && len(open) > 0 && len(all) < enough(n, forced) {
		asked := open.share(n - len(all))
		for i := range asked {
			asked[i].After = l.lanes.get(asked[i].Lane).at
		}
		rows, err := r.take(ctx, r.claim(l, asked))
		if err != nil {
			return all, err
		}
		all = append(all, rows...)
		open = r.advance(l, open, asked, rows)
		if r.flooding(l, asked, rows); len(r.asides) > asides {
			break
		}
	}
	return all, nil
}

// advance moves the cursors behind rows and returns the lanes that may have more.
func (r *runner[R, A]) advance(ln *line, open lanes, asked []driver.LaneClaim, rows []*R) lanes {
	got := r.count(ln, rows, func(l *lane, c driver.Cursor) { l.at = c })
	var more lanes
	for _, l := range open {
		quota := limitOf(asked, l.number)
		if quota > 0 {
			l.got, l.short = got[l.number], got[l.number] < quota
		}
		if quota == 0 || !l.short {
			more = append(more, l)
		}
	}
	return more
}

// count counts rows by lane and passes the place of each to see.
func (r *runner[R, A]) count(ln *line, rows []*R, see func(*lane, driver.Cursor)) map[int16]int {
	got := map[int16]int{}
	for _, row := range rows {
		rec := r.rec(row)
		got[rec.Lane]++
		if l := ln.lanes.get(rec.Lane); l != nil {
			see(l, driver.Cursor{DueOn: rec.DueOn, ID: rec.ID})
		}
	}
	return got
}

func limitOf(asked []driver.LaneClaim, lane int16) int {
	for _, a := range asked {
		if a.Lane == lane {
			return a.Limit
		}
	}
	return 0
}

// scout finds by reading what a claim would take that may look at very many rows, where
// it would get in the way of others meanwhile. The answer is false where there is nothing.
func (r *runner[R, A]) scout(ctx context.Context, c *driver.Claim) (some bool, err error) {
	s, ok := r.store.(driver.Scout)
	if !ok || !c.Long && c.NewerThan == 0 {
		return true, nil
	}
	known := r.asking.known().from(*c)
	known.Now, known.Expired = r.now(), r.expired()
	ids, ok, err := s.Scout(ctx, &r.spec.Table.Schema, known)
	if err != nil || !ok {
		return !ok, err
	}
	c.IDs = ids
	return len(ids) > 0, nil
}

// take commits one claim; only then does the work start. It leaves out what the pass
// leaves alone.
func (r *runner[R, A]) take(ctx context.Context, c driver.Claim) (rows []*R, err error) {
	if some, err := r.scout(ctx, &c); err != nil || !some {
		return nil, err
	}
	if c.Token, err = token(r.store.Rand()); err != nil {
		return nil, err
	}
	claimed, begun := r.tel.claiming(ctx), r.mono.Now()
	err = r.store.InTx(ctx, func(tx storage.Tx) error {
		except, err := r.ask(ctx, tx)
		if err != nil {
			return err
		}
		c := except.from(c)
		r.admitted(begun)
		now := r.now() // not earlier: it may have waited for the lock
		c.Now, c.LeaseUntil, c.Expired = now, driver.Time(now.Add(r.o.Lease)), r.expired()
		rows, err = r.spec.Table.Claim(ctx, tx, c)
		return err
	})
	claimed()
	r.wrote(begun, err)
	if errors.Is(err, storage.ErrOutcomeUnknown) {
		return r.won(ctx, rows)
	}
	return rows, err
}

// won tells which of the rows a claim with an unknown outcome got. If nobody can
// say, the leases run out.
func (r *runner[R, A]) won(ctx context.Context, rows []*R) (won []*R, err error) {
	var stored map[int64]*R
	err = r.store.InTx(ctx, func(tx storage.Tx) error {
		stored, err = load(ctx, tx, r.spec.Table, rows)
		return err
	})
	for _, row := range rows {
		if s := stored[r.rec(row).ID]; s != nil && r.rec(s).ClaimToken == r.rec(row).ClaimToken {
			won = append(won, row)
		}
	}
	return won, err
}

// claim is one of a line, of any moment.
func (r *runner[R, A]) claim(l *line, asked []driver.LaneClaim) driver.Claim {
	return r.narrowed(l, driver.Claim{Statuses: r.spec.Claimable, Busy: r.spec.Busy, Kinds: r.types(), Lanes: asked})
}

// types adds the empty type, which any process serves.
func (r *runner[R, A]) types() []string {
	if r.spec.Types == nil {
		return nil
	}
	return append([]string{""}, r.spec.Types()...)
}

func token(random io.Reader) (string, error) {
	var b [16]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return "", err
	}
	return hex.EncodeToString(b[:]), nil
}
