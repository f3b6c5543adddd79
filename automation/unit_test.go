package automation_test

import (
	"slices"
	"testing"
	"time"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/storage"
)

func inUnit(unit string) func(*automation.Candidate) {
	return func(c *automation.Candidate) { c.BusinessUnit = unit }
}

// A source that moves to another business unit keeps its reminders, which move with it.
func TestTheBusinessUnitMovesWithTheRow(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(nil))
		w.ensure(candidate(inUnit("dublin")))
		got := w.ensure(candidate(inUnit("cork")))[0]
		if row := w.row(certificateKey); got.Outcome != storage.Updated || row.BusinessUnit != "cork" || row.IsOnSupportHold {
			w.t.Errorf("%+v\n%+v", got, row)
		}
		if again := w.ensure(candidate(inUnit("cork")))[0]; again.Outcome != storage.Unchanged {
			w.t.Errorf("%+v", again)
		}
		w.pollAt(day(2026, 4, 1, 9))
		if jobs := w.out.jobs; len(jobs) != 1 || jobs[0].BusinessUnit != "cork" {
			w.t.Errorf("dispatched %+v", jobs)
		}
		if later := w.ensure(candidate(inUnit("galway")))[0]; later.Outcome != storage.Unchanged || later.InputDiffers {
			w.t.Errorf("%+v", later)
		}
		if row := w.row(certificateKey); row.BusinessUnit != "cork" {
			w.t.Errorf("what went out keeps its unit: %+v", row)
		}
	})
}

// An event of the source in its new unit, as the issue had it.
func TestAnEventOfASourceInItsNewUnitIsNoConflict(t *testing.T) {
	eachWorld(t, func(w *world) {
		p := w.withTriggers(nil)
		in := func(unit string) {
			all := offsets(date(2026, 5, 1), 30, 7)
			for i := range all {
				all[i].BusinessUnit = unit
			}
			p.set(all...)
		}
		in("dublin")
		w.handle(changed(1))
		in("cork")
		got := w.handle(changed(2))
		if !slices.Equal(outcomes(got), []storage.Outcome{storage.Updated, storage.Updated}) || len(got.Deactivated) != 0 {
			w.t.Errorf("%+v", got)
		}
		for _, row := range w.rows() {
			if row.BusinessUnit != "cork" || row.Status != automation.StatusPending || row.IsOnSupportHold {
				w.t.Errorf("%+v", row)
			}
		}
	})
}

// The unit of a row under a worker's hands, or in retry, moves with the next wish.
func TestTheBusinessUnitOfARowInRetryMoves(t *testing.T) {
	eachWorld(t, func(w *world) {
		err := errBoom
		w.s.Register(certificates(func(t *automation.ReminderType) { t.Recipients = failingNow(&err) }))
		w.ensure(candidate(inUnit("dublin")))
		w.pollAt(day(2026, 4, 1, 9))
		before := w.row(certificateKey)
		if got := w.ensure(candidate(inUnit("cork")))[0]; got.Outcome != storage.Updated {
			w.t.Errorf("%+v", got)
		}
		if row := w.row(certificateKey); row.RetryCount != before.RetryCount || row.BusinessUnit != "cork" {
			w.t.Errorf("%+v", row)
		}
		err = nil
		w.clk.Add(time.Hour)
		w.poll()
		if got := w.out.dispatched(); len(got) != 1 {
			w.t.Errorf("dispatched %v", got)
		}
	})
}

// An occurrence moves with its series.
func TestTheBusinessUnitMovesWithTheOccurrence(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(nil))
		w.ensure(daily(inUnit("dublin")))
		if got := w.ensure(daily(inUnit("cork")))[0]; got.Outcome != storage.Updated {
			w.t.Errorf("%+v", got)
		}
		w.wantShort("03-01T09:00 Pending")
		w.pollAt(day(2026, 3, 1, 9))
		w.wantShort("03-01T09:00 Completed", "03-02T09:00 Pending")
		for _, row := range w.rows() {
			if row.BusinessUnit != "cork" {
				w.t.Errorf("%+v", row)
			}
		}
	})
}
