package work

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/belfry-go/belfry/storage"
)

// session is one call of Poll or Run: where its handlers run and report to.
type session[R, A any] struct {
	r      *runner[R, A]
	base   context.Context // of the handlers
	stop   <-chan struct{} // closed: groups that have not begun are released
	out    chan outcome[R, A]
	closed chan struct{} // closed when out is no longer read
	single bool          // a poll's
	soon   chan struct{} // signals that a reader waits for landed rows

	mu    sync.Mutex
	slots map[slotKey]chan struct{} // of the groups that are handled now
	mixed map[class]int             // groups in which a tenant has rows beside others
}

// slotKey is what slots are counted by: one kind in one lane, and one tenant of it apart,
// if it has many rows or its calls hang. A tenant whose calls hang does not take slots
// from others.
type slotKey struct {
	class
	apart bool
}

// group are rows of one slot key, to be handled together.
type group[R any] struct {
	key  slotKey
	rows []*R
}

// outcome is what became of one group, or of some of its rows.
type outcome[R, A any] struct {
	rows []settled[R, A]
	rep  Report
	more bool // the group goes on
}

func (r *runner[R, A]) session(base context.Context, stop <-chan struct{}) *session[R, A] {
	return &session[R, A]{
		r: r, base: base, stop: stop, slots: map[slotKey]chan struct{}{}, mixed: map[class]int{},
		out: make(chan outcome[R, A]), closed: make(chan struct{}), soon: make(chan struct{}, 1),
	}
}

// slotsOf are those of one key. In a single poll, which waits for all groups anyway,
// all share them.
func (s *session[R, A]) slotsOf(at slotKey) chan struct{} {
	if s.single {
		at = slotKey{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.slots[at] == nil {
		s.slots[at] = make(chan struct{}, s.r.o.Concurrency)
	}
	return s.slots[at]
}

// launch handles a group as soon as there is a slot, and reports it once.
func (s *session[R, A]) launch(g group[R]) {
	flights, slots := s.r.track(s.base, g.rows), s.slotsOf(g.key)
	mixed := s.mixedIn(g)
	s.count(mixed, 1)
	go func() {
		defer s.count(mixed, -1)
		var o outcome[R, A]
		select {
		case <-s.stop:
			o.rows = s.r.release(g.rows, &o.rep)
		case slots <- struct{}{}:
			free := sync.OnceFunc(func() { <-slots })
			o.rows = s.attempt(g, flights, free, &o.rep)
			free()
		}
		s.report(o)
	}()
}

// mixedIn are the classes of a group of several tenants.
func (s *session[R, A]) mixedIn(g group[R]) []class {
	if g.key.apart {
		return nil
	}
	in := map[class]bool{}
	for _, row := range g.rows {
		in[classOf(s.r.rec(row))] = true
	}
	return slices.Collect(maps.Keys(in))
}

// count adds to the mixed groups of classes.
func (s *session[R, A]) count(of []class, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range of {
		if s.mixed[c] += n; s.mixed[c] == 0 {
			delete(s.mixed, c)
		}
	}
}

func (s *session[R, A]) attempt(g group[R], flights []*flight, free func(), rep *Report) []settled[R, A] {
	select {
	case <-s.stop:
		return s.r.release(g.rows, rep)
	default:
	}
	ctx, end := s.r.limited(s.base, g.key.kind, flights, free)
	defer end()
	return s.handle(ctx, g.rows, flights, rep)
}

// errOverdue ends the context of a group whose handler takes too long.
var errOverdue = errors.New("work: the handler took longer than it may")

// Interrupted reports whether a row's context has ended since the process stops or
// its lease is lost: the try does not count. Taking longer than the Spec's Limit
// counts.
func Interrupted(ctx context.Context) bool {
	return ctx.Err() != nil && context.Cause(ctx) != errOverdue
}

// Uncounted reports whether a try that ended with err does not count: it was
// [Interrupted], or the database was away. Then the row is due again after AwayWait.
func Uncounted(ctx context.Context, err error) bool {
	return Interrupted(ctx) || errors.Is(err, storage.ErrUnavailable)
}

// limited bounds the time that a group is with its handler. After it the group
// keeps neither its leases nor its slot.
func (r *runner[R, A]) limited(ctx context.Context, kind string, flights []*flight, free func()) (context.Context, func()) {
	if r.spec.Limit == nil || r.spec.Limit(kind) <= 0 {
		return ctx, func() {}
	}
	limit, g := r.spec.Limit(kind), &late{kind: kind, since: r.now(), flights: flights}
	ctx, end := context.WithCancelCause(ctx)
	timer := r.mono.AfterFunc(limit, func() {
		r.o.Logger.ErrorContext(ctx, "belfry: a handler takes too long: its rows are renewed no more", "pass", r.spec.Name, "kind", kind, "rows", len(flights), "limit", limit)
		r.tel.tookTooLong(ctx, kind)
		r.overdue.add(g)
		r.flights.giveUp(flights)
		end(errOverdue)
		free()
	})
	return ctx, func() { timer.Stop(); r.overdue.remove(g); end(nil) }
}

// early reports a row whose group is still handled.
func (s *session[R, A]) early(row settled[R, A]) {
	s.report(outcome[R, A]{rows: []settled[R, A]{row}, more: true})
}

// report passes an outcome on. One that comes after all readers have left (its handler
// ignored the end of its context) is settled here and now.
func (s *session[R, A]) report(o outcome[R, A]) {
	s.r.flights.handled(s.r.recs(o.rows))
	select {
	case s.out <- o:
	case <-s.closed:
		ctx, cancel := context.WithTimeout(context.WithoutCancel(s.base), s.r.o.Lease)
		defer cancel()
		s.r.settle(ctx, o.rows, &o.rep)
	}
}

// afterward is a context that ends d after ctx, for writing down what was done.
func afterward(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	after, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(d, cancel)
		context.AfterFunc(after, func() { timer.Stop() })
	})
	return after, func() { stop(); cancel() }
}

// settled is a row on its way back into the store, with what its handler decided.
type settled[R, A any] struct {
	row      *R
	result   A
	dispatch bool // false: abandoned, failed or released, so nothing was decided
}

// split separates a claim into rows to settle at once, since they were taken over from
// another worker, and groups of rows of one slot key to be handled together.
func (s *session[R, A]) split(rows []*R, rep *Report) (abandoned []settled[R, A], groups []group[R]) {
	rep.Claimed += len(rows)
	apart, open := s.apart(rows), map[slotKey]int{}
	for _, row := range rows {
		rec := s.r.rec(row)
		if rec.Abandoned {
			s.r.spec.Abandon(s.r.now(), row)
			rep.Abandoned++
			abandoned = append(abandoned, settled[R, A]{row: row})
			continue
		}
		at := slotKey{class: classOf(rec)}
		if at.apart = apart[at.class]; !at.apart {
			at.scope = ""
		}
		i, ok := open[at]
		if !ok || len(groups[i].rows) == s.r.spec.Group {
			i = len(groups)
			groups, open[at] = append(groups, group[R]{key: at}), i
		}
		groups[i].rows = append(groups[i].rows, row)
	}
	return abandoned, groups
}

// apart tells which classes of a claim are handled apart from others: those with as many
// rows as a group has, and those that are in half as many groups already as there are slots.
func (s *session[R, A]) apart(rows []*R) map[class]bool {
	if s.single {
		return nil // all share their slots
	}
	counts, apart := map[class]int{}, map[class]bool{}
	for _, row := range rows {
		counts[classOf(s.r.rec(row))]++
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for c, n := range counts {
		apart[c] = n >= s.r.spec.Group || s.mixed[c] >= max(s.r.o.Concurrency/2, 1)
	}
	return apart
}

// flush is the Flush of the session's items.
func (s *session[R, A]) flush() {
	select {
	case s.soon <- struct{}{}:
	default:
	}
}

// handle runs the handler over a group whose flights have begun. What a streaming
// handler passes on is reported early, the rest is returned.
func (s *session[R, A]) handle(ctx context.Context, group []*R, flights []*flight, rep *Report) []settled[R, A] {
	r := s.r
	ctx, end := r.tel.handling(ctx, len(group))
	var err error
	defer func() { end(err) }()
	items, claimed := make([]Item[R], len(group)), r.scratch(len(group))
	defer r.scratches.Put(claimed)
	for i, row := range group {
		items[i] = Item[R]{Row: row, Ctx: flights[i].ctx, Lease: r.o.Lease, Flush: s.flush}
		claimed.rows[i] = *row
	}
	if r.spec.Stream != nil {
		var left []*R
		if left, err = r.stream(ctx, items, s.early); len(left) == 0 {
			return nil
		}
		return r.failAll(ctx, left, claimed.of(group, left), err, rep)
	}
	var results []A
	err = Guard(func() (err error) {
		results, err = r.spec.Handle(ctx, items)
		return err
	})
	if err == nil && len(results) != len(group) {
		err = fmt.Errorf("work: the handler of %s answered %d results for %d rows", r.spec.Name, len(results), len(group))
	}
	if err != nil {
		return r.failAll(ctx, group, claimed.rows, err, rep)
	}
	done := make([]settled[R, A], len(group))
	for i, row := range group {
		done[i] = settled[R, A]{row: row, result: results[i], dispatch: true}
	}
	return done
}

// failAll fails rows whose group did. While the database is away they are given back as they
// were claimed, whatever the handler made of some: no row is at fault.
func (r *runner[R, A]) failAll(ctx context.Context, group []*R, claimed []R, err error, rep *Report) []settled[R, A] {
	if errors.Is(err, storage.ErrUnavailable) {
		r.o.Logger.WarnContext(ctx, "belfry: the database was away while rows were handled: they are given back", "pass", r.spec.Name, "rows", len(group), "error", err)
		for i, row := range group {
			*row = claimed[i]
		}
		return r.postpone(group, rep)
	}
	r.o.Logger.ErrorContext(ctx, "belfry: a group of rows failed", "pass", r.spec.Name, "rows", len(group), "error", err)
	done := make([]settled[R, A], len(group))
	for i, row := range group {
		r.spec.Fail(r.now(), row, err)
		done[i].row = row
	}
	rep.Failed += len(group)
	return done
}

// release gives a group back that no handler has seen.
func (r *runner[R, A]) release(group []*R, rep *Report) []settled[R, A] {
	done := make([]settled[R, A], len(group))
	for i, row := range group {
		r.spec.Release(r.now(), row)
		done[i].row = row
	}
	rep.Released += len(group)
	return done
}

// AwayWait is when rows are due again that the database was away for.
const AwayWait = time.Second

// postpone releases a group until AwayWait is over.
func (r *runner[R, A]) postpone(group []*R, rep *Report) []settled[R, A] {
	done, soon := r.release(group, rep), r.now().Add(AwayWait)
	for _, row := range group {
		if rec := r.rec(row); !rec.DueOn.IsZero() && rec.DueOn.Before(soon) {
			rec.DueOn = soon
		}
	}
	return done
}

// track begins the flights of claimed rows: from here on they are renewed.
func (r *runner[R, A]) track(ctx context.Context, group []*R) []*flight {
	flights := make([]*flight, len(group))
	mono, now := r.mono.Now(), r.now()
	for i, row := range group {
		rec := r.rec(row)
		flights[i] = r.flights.add(ctx, rec, mono.Add(rec.LeaseExpiresOn.Sub(now)))
	}
	return flights
}
