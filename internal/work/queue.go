package work

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// This file answers which statement claims a row, and when.
//
// A queue reads a table's due rows in the order of each lane: (due_on, id). In each lane it
// has a place. A look, which is one SELECT, moves the places to the first rows that are due;
// a claim, which is one UPDATE, takes rows from there on and moves the places behind them.
// While claims are full there is no look in between. Once a second a queue starts again at
// the head, by a look: there it finds rows that were made due in the past, and leases that
// ran out. Where that takes long it goes on beside the turns. A row is therefore claimed
// when its time has come and its turn in its lane, or, if it lies behind the place, at the
// next restart.
//
// One queue is shared by all rows. A kind that has no room, and a tenant with a backlog,
// have queues of their own until they have caught up (see room.go).

// restart is how often a queue starts again at the head at least, unless that is costly.
const restart = time.Second

// restartCost bounds what the looks from the head cost, since they walk over all that is
// held, has a queue of its own, or that a long transaction keeps the database from removing:
// a tenth of the time. Those that go on beside the turns, while no kind and no tenant has a
// queue of its own, take half of it: else a row that another process makes due in the past
// waits for very long behind what a transaction keeps.
const restartCost = 10

// long is how much time a look from the head may take if a turn is to wait for it.
const long = 50 * time.Millisecond

// settlesIn is how long after its due time a row is surely visible, if it is saved on time.
// A queue that came to the end of what is due goes on from there.
const settlesIn = 2 * time.Second

// A queue is a part of a table's due rows, which is claimed together.
type queue struct {
	of    part
	kind  string        // of oneKind and oneTenant
	scope storage.Scope // of oneTenant
	lanes lanes         // each with its place

	full      bool          // the last claim was full, so the next one needs no look
	hinted    bool          // a row was saved at or before a place
	restarted time.Time     // when it last looked from the head, by the real clock
	took      time.Duration // how long that took
	beside    bool          // such a look goes on beside the turns
	until     time.Time     // it rests until then, by the store's clock; zero: it does not
	closed    bool          // it had no room in the last turn
}

// part says which rows are in a queue.
type part byte

const (
	everything part = iota // for a single poll
	shared                 // what no other queue has
	oneKind                // of one lane, but for tenants with queues of their own
	oneTenant              // one kind of one tenant, of one lane
)

// pauseOf is how long after a look from the head the next one is allowed.
func (r *runner[R, A]) pauseOf(q *queue) time.Duration {
	if q.took > long && len(r.queues) == 1 {
		return q.took
	}
	return restartCost * q.took
}

// restarts reports whether a queue is to start again at the head.
func (r *runner[R, A]) restarts(q *queue) bool {
	since := r.mono.Since(q.restarted)
	if q.beside {
		return false
	}
	return q.restarted.IsZero() || since >= r.pauseOf(q) && (q.hinted || since >= restart)
}

// rests reports whether a queue had nothing to claim and need not be asked yet.
func (r *runner[R, A]) rests(q *queue) bool {
	wait := q.until.Sub(r.now())
	return wait > 0 && wait <= r.o.Interval && (!q.hinted || !r.restarts(q))
}

// awaken has all queues look, since the store's clock says that it is time.
func (r *runner[R, A]) awaken() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, q := range r.queues {
		q.until = time.Time{}
	}
}

// heed notes whether a row was saved at or before a place since the last turn.
func (r *runner[R, A]) heed(signal *driver.Signal) {
	first := signal.Take()
	if first.IsZero() {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, q := range r.queues {
		if !q.until.IsZero() && first.Before(q.until) {
			q.until = first
		}
		for _, l := range q.lanes {
			q.hinted = q.hinted || !first.After(l.at.DueOn)
		}
	}
}

// turn claims for every queue that has room, and passes on what each gets. next is when a
// queue that rests has something to do, by the store's clock.
func (r *runner[R, A]) turn(ctx context.Context, launch func([]*R)) (n int, next time.Time, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.clockTrusted(); err != nil {
		return 0, next, err
	}
	r.asking.again()
	r.separate()
	full := false
	for _, q := range r.queues {
		room := r.room(q)
		if q.closed = room == 0; q.closed {
			continue
		}
		if !r.rests(q) {
			found, err := r.find(ctx, q, room, false, launch)
			if n += found; err != nil {
				return n, next, err
			}
			if found > 0 && q.of != oneTenant && len(r.queues) > 1 {
				r.others = r.mono.Now()
			}
		}
		full, next = full || q.full, earlier(next, q.until)
	}
	r.rejoin()
	r.full.Store(full)
	return n, next, nil
}

// pollOnce claims at most n rows of what is due, whatever has a queue of its own.
func (r *runner[R, A]) pollOnce(ctx context.Context, n int) (rows []*R, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.clockTrusted(); err != nil {
		return nil, err
	}
	r.asking.again()
	_, err = r.find(ctx, r.all, n, true, func(more []*R) { rows = append(rows, more...) })
	return rows, err
}

// find claims at most n rows of a queue, and passes on what it gets as soon as it has it.
// A single poll says that there is nothing only after it has looked from the head.
func (r *runner[R, A]) find(ctx context.Context, q *queue, n int, single bool, pass func([]*R)) (found int, err error) {
	atHead := r.restarts(q) || single && !q.full
	if atHead && !single && q.took > long {
		r.lookBeside(ctx, q)
		atHead = false
	}
	for {
		due, looked := q.lanes, atHead || !q.full
		if looked {
			if due, err = r.look(ctx, q, atHead); err != nil || len(due) == 0 {
				q.full = false
				return found, err
			}
		}
		more, err := r.claim(ctx, q, due, n-found, single, pass)
		found += more
		q.full = found >= enough(n, single)
		switch {
		case err != nil || q.full:
		case single && !atHead:
			atHead = true
			continue
		case !looked && found == 0:
			continue // so that it rests until what is due next
		}
		r.rest(q, found)
		return found, err
	}
}

// rest has a queue that got nothing wait for the next interval: what a look saw was in
// other hands, which says nothing about when to come back.
func (r *runner[R, A]) rest(q *queue, found int) {
	if q.until = (time.Time{}); found == 0 {
		q.until = r.now().Add(r.o.Interval)
	}
}

// look finds the first due row of each lane by reading, and returns the lanes that have one.
// Where there is none the queue rests until the next is due, for the interval at most.
func (r *runner[R, A]) look(ctx context.Context, q *queue, fromHead bool) (due lanes, err error) {
	if err := r.askFirst(ctx); err != nil {
		return nil, err
	}
	if fromHead {
		q.hinted = false // or a look that fails would be repeated at once
	}
	begun, now := r.mono.Now(), r.now()
	first, err := r.first(ctx, r.looks(q, fromHead), now.Add(r.o.Interval))
	if err != nil {
		return nil, err
	}
	q.until = now.Add(r.o.Interval)
	for _, l := range q.lanes {
		if at := first[l.number]; l.found(at, now) {
			due = append(due, l)
		} else {
			q.until = earlier(q.until, at.DueOn)
		}
	}
	if fromHead {
		r.looked(ctx, q, begun)
	}
	return due, nil
}

// lookBeside looks from the head while the turns of a queue go on. What it finds is claimed
// in the next one.
func (r *runner[R, A]) lookBeside(ctx context.Context, q *queue) {
	q.beside, q.hinted = true, false
	claims := r.looks(q, true)
	r.besides.Go(func() {
		begun, now := r.mono.Now(), r.now()
		first, err := r.first(ctx, claims, now)
		r.mu.Lock()
		defer r.mu.Unlock()
		q.beside = false
		if err != nil {
			return
		}
		r.looked(ctx, q, begun)
		for _, l := range q.lanes {
			if at := first[l.number]; !at.DueOn.IsZero() && at.Before(l.at.DueOn, l.at.ID) {
				l.found(at, now)
				q.full, q.until = true, time.Time{}
			}
		}
		r.flights.tell()
	})
}

// looks are claims of a queue as looks ask for them.
func (r *runner[R, A]) looks(q *queue, fromHead bool) []driver.Claim {
	asked := make([]driver.LaneClaim, len(q.lanes))
	for i, l := range q.lanes {
		if asked[i].Lane = l.number; !fromHead {
			asked[i].After = l.at
		}
	}
	return r.claims(q, asked)
}

// first tells where the first row of each lane is that may be claimed by the horizon.
func (r *runner[R, A]) first(ctx context.Context, claims []driver.Claim, horizon time.Time) (map[int16]driver.Cursor, error) {
	first := map[int16]driver.Cursor{}
	for _, c := range claims {
		c := r.asking.known().from(c)
		c.Now, c.Expired = r.now(), r.expired()
		places, err := r.store.Next(ctx, &r.spec.Table.Schema, c, horizon)
		r.heard(err)
		if err != nil {
			return nil, err
		}
		for i, at := range places {
			first[c.Lanes[i].Lane] = at
		}
	}
	return first, nil
}

// looked notes that a queue has started again at the head.
func (r *runner[R, A]) looked(ctx context.Context, q *queue, begun time.Time) {
	q.restarted = r.mono.Now()
	q.took = q.restarted.Sub(begun)
	r.tel.restarted(ctx, max(restart, r.pauseOf(q)))
}

// found moves the place of a lane to the first row that was found, if it is due, or to the
// end of what is due.
func (l *lane) found(first driver.Cursor, now time.Time) (due bool) {
	if first.DueOn.IsZero() || first.DueOn.After(now) {
		l.ended(now)
		return false
	}
	l.at = driver.Cursor{DueOn: first.DueOn, ID: first.ID - 1}
	return true
}

// ended moves the place of a lane to the end of what is due.
func (l *lane) ended(now time.Time) {
	if at := now.Add(-settlesIn); l.at.DueOn.Before(at) {
		l.at = driver.Cursor{DueOn: at}
	}
}

// claim takes rows of lanes until it has enough, or they have no more.
func (r *runner[R, A]) claim(ctx context.Context, q *queue, open lanes, n int, single bool, pass func([]*R)) (found int, err error) {
	for len(open) > 0 && found < enough(n, single) {
		now, asked, got := r.now(), open.share(n-found), map[int16]int{}
		for _, c := range r.claims(q, asked) {
			rows, err := r.take(ctx, c)
			for _, row := range rows {
				rec := r.rec(row)
				got[rec.Lane]++
				q.lanes.get(rec.Lane).at = driver.Cursor{DueOn: rec.DueOn, ID: rec.ID}
			}
			if found += len(rows); len(rows) > 0 {
				pass(rows)
			}
			if err != nil {
				return found, err
			}
		}
		open = open.advance(asked, got, now)
	}
	return found, nil
}

// claims are one for all lanes, and one more for each lane in which others have queues of
// their own.
func (r *runner[R, A]) claims(q *queue, asked []driver.LaneClaim) (all []driver.Claim) {
	plain := driver.Claim{Statuses: r.spec.Claimable, Busy: r.spec.Busy, Kinds: r.types()}
	if q.of == oneKind || q.of == oneTenant { // while it is served
		plain.Kinds = slices.DeleteFunc(plain.Kinds, func(kind string) bool { return kind != q.kind })
	}
	if q.of == oneTenant {
		plain.Scopes = []storage.Scope{q.scope}
	}
	for _, a := range asked {
		if own := r.within(q, a.Lane); len(own) > 0 {
			all = append(all, without(plain, own, a))
		} else {
			plain.Lanes = append(plain.Lanes, a)
		}
	}
	if len(plain.Lanes) > 0 {
		all = append(all, plain)
	}
	return all
}

// types adds the empty type, which any process serves.
func (r *runner[R, A]) types() []string {
	if r.spec.Types == nil {
		return nil
	}
	return append([]string{""}, r.spec.Types()...)
}

// enough says how many rows make a claim full. A running poller does not ask again for the
// last quarter; a single poll takes what it was asked for.
func enough(n int, single bool) int {
	if single {
		return n
	}
	return max(n*3/4, 1)
}

// earlier is the first of two times that there are.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// untilRestart is how long it takes until a queue may start again for a row behind its
// place, by the real clock; very long, if there is none.
func (r *runner[R, A]) untilRestart() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	wait := time.Duration(math.MaxInt64)
	for _, q := range r.queues {
		if q.hinted && !q.closed && !q.beside {
			wait = min(wait, r.pauseOf(q)-r.mono.Since(q.restarted))
		}
	}
	return max(wait, time.Millisecond)
}
