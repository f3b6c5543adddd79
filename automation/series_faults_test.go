package automation_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/storage/memory"
)

// A series runs, changes its cadence, loses an occurrence to support and goes
// on, with a fault in any one transaction: the end is always the same.
func TestAFaultInAnyOneTransactionNeitherEndsNorDoublesASeries(t *testing.T) {
	t.Parallel()
	want := seriesStory(t, &storetest.Spy{})
	for at := 1; ; at++ {
		reached := false
		for _, lost := range []bool{false, true} {
			faulty := &storetest.Spy{Hook: storetest.Lose(at, lost)}
			if diff := cmp.Diff(want, seriesStory(t, faulty)); diff != "" {
				t.Errorf("fault %d, answer lost %v: %s", at, lost, diff)
			}
			reached = faulty.Begun() >= at
		}
		if !reached {
			return
		}
	}
}

func seriesStory(t *testing.T, store *storetest.Spy) []string {
	clk := clock.NewMock()
	clk.Set(start)
	store.Store = memory.New(&memory.Options{Clock: clk})
	w := newWorld(t, store, clk, nil)
	p := w.withTriggers(nil)
	repeat := func(f func() error) {
		if err := f(); err != nil {
			_ = f() // what it was not sure of; a refusal says that it was done
		}
	}
	tell := func(version int64, c automation.Candidate) {
		p.set(c)
		repeat(func() error { _, err := w.s.HandleEvent(w.ctx, changed(version)); return err })
	}
	pollUntil := func(until time.Time) {
		for ; clk.Now().Before(until); clk.Add(20 * time.Minute) {
			_, _ = w.runner().Poll(w.ctx, 100) // the next one goes on
		}
	}
	tell(1, daily(nil))
	pollUntil(day(2026, 3, 2, 12))
	tell(2, cron("0 18 * * *"))
	pollUntil(day(2026, 3, 2, 20))
	repeat(func() error { return w.s.Support().Cancel(w.ctx, "", on(day(2026, 3, 3, 18)), ann) })
	pollUntil(day(2026, 3, 5, 20))
	// the story is over, and so are its faults
	w.store, w.s = store.Store, automation.New(store.Store, w.out, &w.opts)
	jobs := map[string]bool{}
	for _, j := range w.out.jobs {
		jobs[j.PartitionKey+j.RowKey] = true
	}
	return append(w.short(), fmt.Sprint(len(jobs), " jobs, missing ", len(w.lost())))
}
