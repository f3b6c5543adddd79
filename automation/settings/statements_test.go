package settings_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation/settings"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/memory"
)

// countingStore counts reads by table.
type countingStore struct {
	storage.Store
	reads map[string]int
}

func (s *countingStore) InTx(ctx context.Context, f func(storage.Tx) error) error {
	return s.Store.InTx(ctx, func(tx storage.Tx) error { return f(&countingTx{tx, s}) })
}

type countingTx struct {
	storage.Tx
	s *countingStore
}

func (t *countingTx) Store() storage.Store { return t.s }

func (t *countingTx) Select(ctx context.Context, s *driver.Schema, reach driver.Reach, q driver.Query) ([]driver.Row, error) {
	t.s.reads[s.Name]++
	return t.Tx.Select(ctx, s, reach, q)
}

// Settings are read three times for an event however many there are, and once
// for all rows that are due; a unit is read for its zone and its calendar.
func TestSettingsAreReadInBatches(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 50} {
		clk := clock.NewMock()
		clk.Set(storetest.Start)
		store := &countingStore{memory.New(&memory.Options{Clock: clk}), map[string]int{}}
		w := newWorld(t, store, clk)
		w.saveUnit(unit("office", "UTC"))
		for i := range n {
			w.save(expiry(func(r *settings.ReminderSetting) { r.ID, r.Offsets = fmt.Sprint("id", i), []int{7} }))
		}
		w.targets = []settings.Target{{Date: firstOfMay, BusinessUnit: "office"}}
		clear(store.reads)
		w.changeReachesSources()
		want := map[string]int{"reminder_setting": 3, "business_unit": 2 * n}
		got := map[string]int{"reminder_setting": store.reads["reminder_setting"], "business_unit": store.reads["business_unit"]}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%d settings: an event: %s", n, diff)
		}
		clear(store.reads)
		if _, err := w.poller.PollOnce(w.ctx, 100); err != nil {
			t.Fatal(err)
		}
		clk.Set(at(4, 24, 9))
		if _, err := w.poller.PollOnce(w.ctx, 100); err != nil {
			t.Fatal(err)
		}
		if got := store.reads["reminder_setting"]; got != 1 || len(w.due) != n {
			t.Errorf("%d settings: %d reads for %d due rows", n, got, len(w.due))
		}
	}
}
