package work

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// flight is a row in the hands of this runner.
type flight struct {
	id      int64
	token   string
	ctx     context.Context
	cancel  context.CancelCauseFunc
	expires time.Time // on the monotonic clock
	class   class
	handled bool // it waits to be settled only
	givenUp bool // it is renewed no more
}

// flights are the rows claimed and not yet settled.
type flights struct {
	mu      sync.Mutex
	rows    map[int64]*flight
	classes map[class]count
	ofKinds map[class]int // without a tenant
	freed   chan struct{} // receives after rows were handled or removed
}

func newFlights() *flights {
	return &flights{rows: map[int64]*flight{}, classes: map[class]count{}, ofKinds: map[class]int{}, freed: make(chan struct{}, 1)}
}

func (f *flights) add(ctx context.Context, rec *driver.Due, expires time.Time) *flight {
	fl := &flight{id: rec.ID, token: rec.ClaimToken, expires: expires, class: classOf(rec)}
	fl.ctx, fl.cancel = context.WithCancelCause(ctx)
	f.mu.Lock()
	defer f.mu.Unlock()
	if old := f.rows[rec.ID]; old != nil {
		f.drop(old) // its lease ran out unnoticed, and we took the row over
	}
	f.rows[rec.ID] = fl
	f.count(fl, 1, 1)
	return fl
}

// count changes what a flight counts for.
func (f *flights) count(fl *flight, all, unhandled int) {
	n, kind := f.classes[fl.class], fl.class.ofKind()
	f.classes[fl.class] = count{n.all + all, n.unhandled + unhandled}
	if f.classes[fl.class] == (count{}) {
		delete(f.classes, fl.class)
	}
	if f.ofKinds[kind] += all; f.ofKinds[kind] == 0 {
		delete(f.ofKinds, kind)
	}
}

func (f *flights) drop(fl *flight) {
	fl.cancel(nil)
	delete(f.rows, fl.id)
	f.land(fl)
	f.count(fl, -1, 0)
}

// land notes that no handler has the row of a flight any more.
func (f *flights) land(fl *flight) {
	if !fl.handled {
		fl.handled = true
		f.count(fl, 0, -1)
	}
}

// backlogs are the classes with so many rows in flight.
func (f *flights) backlogs(least int) (all []class) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.rows) < least {
		return nil
	}
	for c, n := range f.classes {
		if n.all >= least {
			all = append(all, c)
		}
	}
	return all
}

// kinds are those with rows in flight, by lane.
func (f *flights) kinds() []class {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Collect(maps.Keys(f.ofKinds))
}

// ofKind counts the rows of a kind in a lane, of all tenants.
func (f *flights) ofKind(c class) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ofKinds[c.ofKind()]
}

// of counts the rows of a class.
func (f *flights) of(c class) count {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.classes[c]
}

// handled notes that rows wait to be settled only.
func (f *flights) handled(recs []*driver.Due) { f.each(recs, f.land) }

// remove forgets flights.
func (f *flights) remove(recs []*driver.Due) { f.each(recs, f.drop) }

// each does something with the flights of rows, but for those of which the row is in a
// newer one by now.
func (f *flights) each(recs []*driver.Due, do func(*flight)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, rec := range recs {
		if fl := f.rows[rec.ID]; fl != nil && fl.token == rec.ClaimToken {
			do(fl)
		}
	}
	f.tell()
}

// tell wakes a runner that waits for room.
func (f *flights) tell() {
	select {
	case f.freed <- struct{}{}:
	default:
	}
}

func (f *flights) len() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.rows)
}

// all are those that are to be renewed.
func (f *flights) all() []*flight {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := make([]*flight, 0, len(f.rows))
	for _, fl := range f.rows {
		if !fl.givenUp {
			all = append(all, fl)
		}
	}
	return all
}

// giveUp ends flights whose rows are renewed no more.
func (f *flights) giveUp(late []*flight) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, fl := range late {
		fl.givenUp = true
		fl.cancel(errOverdue)
	}
}

// renewed notes a new expiry, or ends a flight whose lease is lost, and tells
// whether it did; one that was settled meanwhile has no lease to lose.
func (f *flights) renewed(fl *flight, lost bool, expires time.Time) (ended bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if lost {
		fl.cancel(nil)
		return f.rows[fl.id] == fl
	}
	fl.expires = expires
	return false
}

// expire ends the flights that could not be renewed in time: their leases may be in other
// hands by now.
func (f *flights) expire(now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, fl := range f.rows {
		if now.After(fl.expires) {
			fl.cancel(nil)
		}
	}
}

// heartbeat renews the leases of the rows in flight until ctx ends. It beats
// three times a lease and a little more, since another writer may put an older
// lease back.
func (r *runner[R, A]) heartbeat(ctx context.Context) {
	tick := r.mono.Ticker(r.o.Lease * 3 / 10)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := r.beat(ctx); err != nil && ctx.Err() == nil {
				r.o.Logger.WarnContext(ctx, "belfry: leases could not be renewed", "pass", r.spec.Name, "error", err)
			}
			r.flights.expire(r.mono.Now())
		}
	}
}

func (r *runner[R, A]) beat(ctx context.Context) error {
	held := r.flights.all()
	if len(held) == 0 {
		return nil
	}
	rows := make([]*R, len(held))
	for i, fl := range held {
		rows[i] = new(R)
		rec := r.rec(rows[i])
		rec.ID, rec.ClaimToken = fl.id, fl.token
	}
	var expires time.Time
	var lost []bool
	begun := r.mono.Now()
	err := r.store.InTx(ctx, func(tx storage.Tx) (err error) {
		expires = r.mono.Now().Add(r.o.Lease)
		lost, err = r.spec.Table.Extend(ctx, tx, r.now().Add(r.o.Lease), rows...)
		return err
	})
	r.wrote(begun, err)
	if err != nil {
		return err
	}
	for i, fl := range held {
		if r.flights.renewed(fl, lost[i], expires) {
			r.tel.leaseLost(ctx)
		}
	}
	return nil
}
