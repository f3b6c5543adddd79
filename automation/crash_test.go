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

// The story of a renewed certificate, with a fault in any one transaction: the
// caller repeats what it was not sure of, pollers go on, and the end is the same.
func TestAFaultInAnyOneTransactionChangesNothingInTheEnd(t *testing.T) {
	t.Parallel()
	want := renewal(t, &storetest.Spy{})
	for at := 1; ; at++ {
		reached := false
		for _, lost := range []bool{false, true} {
			faulty := &storetest.Spy{Hook: storetest.Lose(at, lost)}
			if diff := cmp.Diff(want, renewal(t, faulty)); diff != "" {
				t.Errorf("fault %d, answer lost %v: %s", at, lost, diff)
			}
			reached = faulty.Begun() >= at
		}
		if !reached {
			return
		}
	}
}

func renewal(t *testing.T, store *storetest.Spy) map[string]string {
	clk := clock.NewMock()
	clk.Set(start)
	store.Store = memory.New(&memory.Options{Clock: clk})
	w := newWorld(t, store, clk, nil)
	p := w.withTriggers(nil)
	tell := func(e automation.Event) {
		for range 2 {
			if _, err := w.s.HandleEvent(w.ctx, e); err == nil {
				return
			}
		}
		t.Fatal("an event fails twice")
	}
	pollUntil := func(on time.Time) {
		for clk.Set(on); clk.Now().Before(on.Add(3 * time.Hour)); clk.Add(10 * time.Minute) {
			_, _ = w.runner().Poll(w.ctx, 100) // the next one goes on
		}
	}
	p.set(offsets(date(2026, 5, 1), 30, 7)...)
	tell(changed(1))
	pollUntil(day(2026, 4, 1, 9))
	p.set(offsets(date(2029, 5, 1), 30)...)
	tell(changed(2))
	pollUntil(day(2026, 5, 1, 9))
	w.store = store.Store // the story is over, and so are its faults
	out := w.statuses()
	jobs := map[string]bool{}
	for _, j := range w.out.jobs {
		jobs[j.PartitionKey+j.RowKey] = true
	}
	out["jobs"] = fmt.Sprint(len(jobs))
	return out
}
