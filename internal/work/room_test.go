package work_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// many rows of one kind and lane, due one after the other from a moment on, of one
// scope or, if it is "each", of twenty.
func (b *bench) many(n int, rec driver.Due) {
	b.t.Helper()
	rows := make([]task, n)
	for i := range rows {
		rows[i].Due = rec
		rows[i].Key, rows[i].Status = fmt.Sprint(rec.Key, i), "Ready"
		if rec.Scope == "each" {
			rows[i].Scope = storage.Scope(fmt.Sprint(i % 20))
		}
		rows[i].DueOn = rec.DueOn.Add(time.Duration(i) * time.Microsecond)
	}
	b.insert(rows...)
}

// hanging makes rows of which hangs is true wait until they are let go.
func (b *bench) hanging(hangs func(*task) bool) (letGo func()) {
	gone := make(chan struct{})
	b.handle = func(_ context.Context, it work.Item[task]) error {
		if hangs(it.Row) {
			<-gone
		}
		return nil
	}
	return func() { close(gone) }
}

func (b *bench) done(n int, what string, is func(*task) bool) {
	b.t.Helper()
	got := 0
	for _, row := range b.all() {
		if is(row) && row.Status == "Done" {
			got++
		}
	}
	if got != n {
		b.t.Errorf("%d rows %s are done, want %d", got, what, n)
	}
}

// A kind that hangs holds up neither others, nor what is urgent in others.
func TestAKindThatHangsHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newLive(t)
		b.spec.Types = func() []string { return []string{"hung", "well"} }
		past := b.store.Clock().Now().Add(-time.Hour)
		b.many(20_000, driver.Due{Record: storage.Record{Key: "h", Scope: "each", Kind: "hung"}, DueOn: past})
		b.many(2_000, driver.Due{Record: storage.Record{Key: "w", Scope: "each", Kind: "well"}, DueOn: past.Add(time.Minute)})
		letGo := b.hanging(func(r *task) bool { return r.Kind == "hung" })
		stop := b.run(work.Options{})
		pass(3 * time.Second)
		synctest.Wait()
		well := func(r *task) bool { return r.Kind == "well" }
		b.done(2_000, "of the other kind", well)
		b.many(10, driver.Due{Record: storage.Record{Key: "later", Kind: "well"}, Lane: storage.LaneUrgent, DueOn: b.store.Clock().Now()})
		pass(time.Second)
		synctest.Wait()
		b.done(2_010, "of the other kind", well)
		busy := 0
		for _, row := range b.all() {
			if row.Status == "Busy" {
				busy++
			}
		}
		if busy > 4_000 {
			t.Errorf("%d rows of the kind that hangs are held", busy)
		}
		letGo()
		pass(time.Minute)
		synctest.Wait()
		_ = stop()
		b.done(20_000, "of the kind that hung", func(r *task) bool { return r.Kind == "hung" })
	})
}

func TestWhatIsUrgentDoesNotWaitBehindItsKind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newLive(t)
		b.spec.Types = func() []string { return []string{"mail"} }
		now := b.store.Clock().Now()
		b.many(10_000, driver.Due{Record: storage.Record{Key: "bulk", Scope: "each", Kind: "mail"}, Lane: storage.LaneBulk, DueOn: now.Add(-time.Hour)})
		letGo := b.hanging(func(r *task) bool { return r.Lane == storage.LaneBulk })
		stop := b.run(work.Options{})
		synctest.Wait()
		b.many(10, driver.Due{Record: storage.Record{Key: "urgent", Kind: "mail"}, Lane: storage.LaneUrgent, DueOn: b.store.Clock().Now()})
		pass(3 * time.Second)
		synctest.Wait()
		b.done(10, "of the urgent lane", func(r *task) bool { return r.Lane == storage.LaneUrgent })
		letGo()
		_ = stop()
	})
}

// A tenant with a backlog has slots of its own, and leaves room for others.
func TestABacklogLeavesRoomForASmallTenant(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newLive(t)
		b.spec.Types = func() []string { return []string{"mail"} }
		past := b.store.Clock().Now().Add(-time.Hour)
		b.many(20_000, driver.Due{Record: storage.Record{Key: "f", Scope: "big", Kind: "mail"}, DueOn: past})
		b.many(10, driver.Due{Record: storage.Record{Key: "s", Scope: "small", Kind: "mail"}, DueOn: past.Add(time.Minute)})
		var before atomic.Int64
		small := func(r *task) bool { return r.Scope == "small" }
		b.handle = func(_ context.Context, it work.Item[task]) error {
			if !small(it.Row) {
				before.Add(1)
				pass(time.Millisecond)
			}
			return nil
		}
		stop := b.run(work.Options{})
		pass(1200 * time.Millisecond) // until a look from the head has found them
		synctest.Wait()
		b.done(10, "of the small scope", small)
		if n := before.Load(); n > 10_000 {
			t.Errorf("%d rows of the backlog came first", n)
		}
		pass(time.Minute)
		synctest.Wait()
		_ = stop()
		b.done(20_000, "of the backlog", func(r *task) bool { return r.Scope == "big" })
	})
}

// unsettled is a store that settles nothing until it is let go. It does not wait in a
// transaction, since memory has one at a time.
type unsettled struct {
	storage.Store
	gone chan struct{}
}

var errUnsettled = errors.New("not yet")

func (s unsettled) InTx(ctx context.Context, f func(storage.Tx) error) error {
	err := s.Store.InTx(ctx, func(tx storage.Tx) error { return f(unsettledTx{tx}) })
	if !errors.Is(err, errUnsettled) {
		return err
	}
	<-s.gone
	return s.Store.InTx(ctx, f)
}

type unsettledTx struct{ storage.Tx }

func (unsettledTx) Update(context.Context, *driver.Schema, []driver.Row) ([]bool, error) {
	return nil, errUnsettled
}

// The backlog of a tenant is claimed while its results are saved, and takes no room from
// others of its kind.
func TestABacklogIsClaimedWhileItsResultsAreSaved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newLive(t)
		b.spec.Types = func() []string { return []string{"mail"} }
		b.many(20_000, driver.Due{Record: storage.Record{Key: "f", Scope: "big", Kind: "mail"}, DueOn: b.store.Clock().Now().Add(-time.Hour)})
		var small atomic.Bool
		b.handle = func(_ context.Context, it work.Item[task]) error {
			if it.Row.Scope == "small" {
				small.Store(true)
			}
			return nil
		}
		inner, gone := b.store, make(chan struct{})
		b.store = unsettled{inner, gone}
		stop := b.run(work.Options{})
		b.store = inner
		pass(3 * time.Second)
		synctest.Wait()
		held := func() {
			t.Helper()
			busy := 0
			for _, row := range b.all() {
				if row.Scope == "big" && row.Status == "Busy" {
					busy++
				}
			}
			if busy <= 2_000 || busy > 4_000 {
				t.Errorf("%d rows of the backlog are in flight, want more than half of the room, and not more than all", busy)
			}
		}
		held()
		b.many(10, driver.Due{Record: storage.Record{Key: "s", Scope: "small", Kind: "mail"}, DueOn: b.store.Clock().Now()})
		pass(3 * time.Second)
		synctest.Wait()
		if !small.Load() {
			t.Error("another tenant's rows wait for those of the backlog")
		}
		held()
		close(gone)
		pass(time.Minute)
		synctest.Wait()
		_ = stop()
		b.done(20_010, "of both", func(*task) bool { return true })
	})
}

// Tenants with backlogs share room within a kind only: one of a kind that hangs
// takes nothing from one of a kind that is well.
func TestTheBacklogOfAnotherKindTakesNoRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newLive(t)
		b.spec.Types = func() []string { return []string{"hung", "well"} }
		past := b.store.Clock().Now().Add(-time.Hour)
		b.many(10_000, driver.Due{Record: storage.Record{Key: "h", Scope: "one", Kind: "hung"}, DueOn: past})
		b.many(10_000, driver.Due{Record: storage.Record{Key: "w", Scope: "two", Kind: "well"}, DueOn: past.Add(time.Minute)})
		letGo := b.hanging(func(*task) bool { return true })
		stop := b.run(work.Options{})
		pass(3 * time.Second)
		synctest.Wait()
		busy := map[string]int{}
		for _, row := range b.all() {
			if row.Status == "Busy" {
				busy[row.Kind]++
			}
		}
		if busy["hung"] < 1_500 || busy["well"] < 1_500 || busy["hung"]+busy["well"] > 5_000 {
			t.Errorf("rows in flight: %v, want about half of the room of each kind", busy)
		}
		letGo()
		_ = stop()
	})
}

// all are the rows of every scope.
func (b *bench) all() []*task {
	b.t.Helper()
	var rows []*task
	err := b.store.InTx(b.t.Context(), func(tx storage.Tx) (err error) {
		rows, err = b.table.Everywhere().Find(b.t.Context(), tx, driver.Query{Limit: 100_000})
		return err
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return rows
}

// A handler that takes too long keeps neither its rows nor its slot: the rows
// count as failed, or as abandoned where it does not even return.
func TestAHandlerThatTakesTooLongLosesItsRows(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newLive(t)
		b.spec.Group = 1
		b.spec.Types = func() []string { return []string{"polite", "deaf", "well"} }
		b.spec.Limit = func(kind string) time.Duration {
			return map[string]time.Duration{"polite": time.Hour, "deaf": time.Hour}[kind]
		}
		now := b.store.Clock().Now()
		for _, kind := range []string{"polite", "deaf", "well"} {
			b.insert(task{Due: driver.Due{Record: storage.Record{Key: kind, Kind: kind, Status: "Ready"}, DueOn: now}})
		}
		gone := make(chan struct{})
		b.handle = func(_ context.Context, it work.Item[task]) error {
			switch {
			case it.Row.Note != "":
			case it.Row.Kind == "polite":
				<-it.Ctx.Done()
				return it.Ctx.Err()
			case it.Row.Kind == "deaf":
				<-gone
			default:
				pass(2 * time.Hour)
			}
			return nil
		}
		stop := b.run(work.Options{Concurrency: 1, Lease: time.Minute})
		pass(59 * time.Minute)
		synctest.Wait()
		for _, kind := range []string{"polite", "deaf", "well"} {
			b.must(kind, "Busy")
		}
		pass(150 * time.Second)
		synctest.Wait()
		if got := b.get("polite"); got.Status != "Ready" || got.Retries != 1 {
			t.Errorf("the row of a handler that returned late: %+v", got)
		}
		if got := b.get("deaf"); got.Status != "Ready" || got.Note != "abandoned" {
			t.Errorf("the row of a handler that does not return: %+v", got)
		}
		pass(2 * time.Hour)
		synctest.Wait()
		for _, kind := range []string{"polite", "deaf", "well"} {
			b.must(kind, "Done")
		}
		close(gone)
		_ = stop()
	})
}
