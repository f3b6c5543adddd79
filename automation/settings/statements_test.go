package settings_test

import (
	"fmt"
	"maps"
	"testing"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation/settings"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/storage/memory"
)

// reads counts them by table.
func reads(calls *storetest.Calls) map[string]int {
	out := map[string]int{}
	for _, c := range calls.Take() {
		if c.Verb == storetest.Select || c.Verb == storetest.Get {
			out[c.Table]++
		}
	}
	return out
}

// Settings are read twice for an event however many there are: to plan, and to see which are
// off. They are read twice for all rows that are due as well, and before the calls once more;
// a unit is read for its zone and its calendar, once for all.
func TestSettingsAreReadInBatches(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 50} {
		clk := clock.NewMock()
		clk.Set(storetest.Start)
		store, calls := storetest.Counting(memory.New(&memory.Options{Clock: clk}))
		w := newWorld(t, store, clk)
		w.saveUnit(unit("office", "UTC"))
		for i := range n {
			w.save(expiry(func(r *settings.ReminderSetting) { r.ID, r.Offsets = fmt.Sprint("id", i), []int{7} }))
		}
		w.targets = []settings.Target{{Date: firstOfMay, BusinessUnit: "office"}}
		calls.Take()
		w.changeReachesSources()
		want := map[string]int{"reminder_setting": 2, "business_unit": 2}
		got := reads(calls)
		maps.DeleteFunc(got, func(table string, _ int) bool { return want[table] == 0 })
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%d settings: an event: %s", n, diff)
		}
		w.drain() // the re-plan of what was saved
		calls.Take()
		clk.Set(at(4, 24, 9))
		if _, err := w.poller.PollOnce(w.ctx, 100); err != nil {
			t.Fatal(err)
		}
		if got := reads(calls)["reminder_setting"]; got != 4 || len(w.due) != n {
			t.Errorf("%d settings: %d reads for %d due rows", n, got, len(w.due))
		}
	}
}
