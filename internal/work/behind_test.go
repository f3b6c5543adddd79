package work_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
)

// twoPrimaries is a database of which an older state answers at times.
type twoPrimaries struct {
	storage.Store
	older storage.Store
	old   atomic.Bool
}

func (s *twoPrimaries) InTx(ctx context.Context, f func(storage.Tx) error) error {
	if s.old.Load() {
		return s.older.InTx(ctx, f)
	}
	return s.Store.InTx(ctx, f)
}

// behind polls a row once, whose call ends when the older state answers, for so long.
func behind(t *testing.T, away time.Duration) (rep work.Report, newer, older *task, dispatched int) {
	b := newLive(t)
	two := &twoPrimaries{Store: b.store, older: memory.New(&memory.Options{Clock: b.store.Clock()})}
	row := b.ready("a", b.store.Clock().Now())
	b.insert(row)
	b.store = two.older
	b.insert(row)
	b.store = two
	b.handle = func(context.Context, work.Item[task]) error {
		two.old.Store(true)
		time.AfterFunc(away, func() { two.old.Store(false) })
		return nil
	}
	b.spec.Dispatch = func(_ context.Context, _ storage.Tx, done []work.Done[task, string]) error {
		dispatched = len(done)
		return nil
	}
	rep = b.poll(b.runner(), 10)
	b.store = two.Store
	newer = b.get("a")
	b.store = two.older
	return rep, newer, b.get("a"), dispatched
}

// A primary that was replaced, and does not know it yet, says that each row is another
// than was claimed. The result of the call waits for the right one.
func TestAResultWaitsForADatabaseThatIsBehind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rep, newer, older, dispatched := behind(t, 20*time.Second)
		if diff := cmp.Diff(work.Report{Claimed: 1, Settled: 1}, rep); diff != "" {
			t.Error(diff)
		}
		if newer.Status != "Done" || older.Status != "Ready" || dispatched != 1 {
			t.Errorf("dispatched %d, %+v, on the old primary %+v", dispatched, newer, older)
		}
	})
}

// A database that has forgotten the claim for good learns what became of it.
func TestAResultIsAppliedToADatabaseThatForgotItsClaim(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rep, _, older, dispatched := behind(t, time.Hour)
		if diff := cmp.Diff(work.Report{Claimed: 1, Settled: 1}, rep); diff != "" {
			t.Error(diff)
		}
		if older.Status != "Done" || dispatched != 1 {
			t.Errorf("dispatched %d, %+v", dispatched, older)
		}
	})
}
