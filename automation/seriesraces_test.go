package automation_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/storage"
)

// two are candidates of one source with a cadence, told apart by trigger keys.
func two(expr string) (out []automation.Candidate) {
	for n := range 2 {
		c := cron(expr)
		c.TriggerKey = fmt.Sprint(n)
		out = append(out, c)
	}
	return out
}

// before is a hook that acts once, before a table is asked.
func before(verb, table string, act func(tx storage.Tx)) func(storetest.Call) error {
	acted := false
	return func(c storetest.Call) error {
		if c.Verb == verb && c.Table == table && !acted {
			acted = true
			act(c.Tx)
		}
		return nil
	}
}

// Two cadences change in one call, and somebody writes the row of one of them
// meanwhile: both rows end, and the history of both says so.
func TestTheHistoryTellsOfEachRowThatACadenceEnds(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		s := &storetest.Spy{Store: store}
		w := newWorld(t, s, clk, nil)
		w.s.Register(certificates(nil))
		w.ensure(two("0 9 * * *")...)
		keys := slices.Sorted(maps.Keys(w.rows()))
		s.SetHook(before(storetest.Update, automation.Schedules.Name, func(tx storage.Tx) {
			row, err := automation.Schedules.Get(w.ctx, tx, "", keys[1])
			w.must(err)
			w.must(automation.Schedules.Save(w.ctx, tx, row))
		}))
		w.ensure(two("30 10 * * *")...)
		s.SetHook(nil)
		for _, key := range keys {
			if diff := cmp.Diff([]string{"host Deactivated Pending Deactivated"}, w.audited("automation_scheduler", key)); diff != "" {
				t.Errorf("%s: %s", key, diff)
			}
		}
	})
}

// An event ends two series. A pass has just moved one on, and somebody writes the
// other meanwhile: the row to which the first moved ends all the same.
func TestAnEventEndsTheRowOfASeriesThatMovedOnBesideOneThatIsWritten(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		s := &storetest.Spy{Store: store}
		w := newWorld(t, s, clk, nil)
		p := w.withTriggers(nil)
		p.set(two("0 9 * * *")...)
		w.handle(changed(1))
		keys := slices.Sorted(maps.Keys(w.rows()))
		settled, other := w.row(keys[0]), w.row(keys[1])
		settled.Status = automation.StatusCompleted
		movesOn := before(storetest.Select, automation.SeriesTable.Name, func(tx storage.Tx) {
			w.must(automation.SettledRows(w.ctx, automation.New(store, w.out, nil), tx, []*automation.ScheduleRow{&settled}))
		})
		isWritten := before(storetest.Update, automation.SeriesTable.Name, func(tx storage.Tx) {
			d, err := automation.SeriesTable.Get(w.ctx, tx, "", automation.RowSeriesKey(&other))
			w.must(err)
			w.must(automation.SeriesTable.Save(w.ctx, tx, d))
		})
		s.SetHook(func(c storetest.Call) error { return errors.Join(movesOn(c), isWritten(c)) })
		p.set()
		w.handle(changed(2))
		s.SetHook(nil)
		w.wantShort("03-01T09:00 Deactivated Superseded", "03-01T09:00 Deactivated Superseded", "03-02T09:00 Deactivated Superseded")
	})
}
