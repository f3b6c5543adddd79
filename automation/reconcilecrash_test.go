package automation_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/memory"
)

// The story of a scan in three pages, with a fault in any one transaction: at
// every moment what the cursor and the watermark passed is repaired, and the end
// is the same.
//
//spec:a-106
func TestI21_AFaultInAnyOneTransactionLeavesNothingBehindTheCursor(t *testing.T) {
	t.Parallel()
	want := scanStory(t, &storetest.Spy{})
	for at := 1; ; at++ {
		reached := false
		for _, lost := range []bool{false, true} {
			faulty := &storetest.Spy{Hook: storetest.Lose(at, lost)}
			if diff := cmp.Diff(want, scanStory(t, faulty)); diff != "" {
				t.Errorf("fault %d, answer lost %v: %s", at, lost, diff)
			}
			reached = faulty.Begun() >= at
		}
		if !reached {
			return
		}
	}
}

func scanStory(t *testing.T, store *storetest.Spy) map[string]string {
	clk := clock.NewMock()
	clk.Set(start)
	store.Store = memory.New(&memory.Options{Clock: clk})
	w := newWorld(t, store, clk, nil)
	s := w.withStaff(nil)
	w.hire(s, 5)
	inspect := *w
	inspect.store = store.Store
	inspect.s = automation.New(store.Store, w.out, &w.opts)
	for polls := 0; ; polls++ {
		_, _ = w.scanner().Poll(w.ctx, 100) // the next one goes on
		inspect.committedBehindTheCursor()
		states, err := inspect.s.Upkeep().Reconciliations(w.ctx, "")
		if err != nil || polls == 30 || t.Failed() {
			t.Fatal("it does not come to an end", states, err)
		}
		if len(states) == 1 && states[0].Last != nil {
			break
		}
		clk.Add(2 * time.Minute) // leases end
		if len(states) == 1 && states[0].NextOn.After(clk.Now()) {
			clk.Set(states[0].NextOn)
		}
	}
	out := inspect.statuses()
	out["watermark"] = fmt.Sprint(!inspect.state().Watermark.IsZero())
	return out
}

// committedBehindTheCursor checks that whoever the cursor has passed has rows.
func (w *world) committedBehindTheCursor() {
	w.t.Helper()
	rows := w.rows()
	err := w.store.InTx(w.ctx, func(tx storage.Tx) error {
		found, err := automation.Reconciliations.Find(w.ctx, tx, "", driver.Query{Limit: 1})
		for _, r := range found {
			for i := range 5 {
				id := fmt.Sprintf("%03d", i)
				if _, ok := rows[keyOf(id, "2026-05-01", 7)]; !ok && (id <= r.Cursor || !r.Watermark.IsZero()) {
					w.t.Errorf("%s is behind cursor %q, watermark %v, and has no row", id, r.Cursor, r.Watermark)
				}
			}
		}
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
}
