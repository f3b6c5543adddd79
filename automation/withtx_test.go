package automation_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/storage"
)

func TestWhatABoundSchedulerDidVanishesWithItsTransaction(t *testing.T) {
	eachWorld(t, func(w *world) {
		p := w.withTriggers(func(t *automation.ReminderType) {
			t.Immediate = immediates(func(automation.Event) []automation.Immediate { return []automation.Immediate{{}} })
		})
		p.set(offsets(date(2026, 6, 1), 30)...)
		w.ensure(candidate(nil))
		before := w.rows()
		lost := automation.Event{ID: "1", Type: "certificate-lost", Source: automation.Source{"employee", "7"}}
		err := w.store.InTx(w.ctx, func(tx storage.Tx) error {
			s := w.s.WithTx(tx)
			if _, err := s.Ensure(w.ctx, candidate(func(c *automation.Candidate) { c.DaysBefore = 7 })); err != nil {
				w.t.Error(err)
			}
			if got, err := s.HandleEvent(w.ctx, changed(9)); err != nil || len(got.Deactivated) != 2 || got.Ensured[0].Outcome != storage.Created {
				w.t.Errorf("%+v %v", got, err)
			}
			if got, err := s.HandleEvent(w.ctx, lost); err != nil || got.Immediate[0].Outcome != storage.Created {
				w.t.Errorf("%+v %v", got, err)
			}
			if err := s.Support().Hold(w.ctx, "", key("2026-06-01", "30"), ann); err != nil {
				w.t.Error(err)
			}
			if e, err := s.Explain(w.ctx, "", key("2026-06-01", "30")); err != nil || !e.Schedule.IsOnSupportHold || len(e.History) != 2 {
				w.t.Errorf("%v %v", e, err)
			}
			return errBoom
		})
		if !errors.Is(err, errBoom) {
			w.t.Fatal(err)
		}
		if diff := cmp.Diff(before, w.rows()); diff != "" {
			w.t.Error(diff)
		}
		if e, err := w.s.Explain(w.ctx, "", key("2026-06-01", "30")); err != nil || e.Schedule != nil || len(e.History) != 0 {
			w.t.Errorf("%v %v", e, err)
		}
		if got := w.handle(changed(8)); got.Outcome != automation.EventApplied {
			w.t.Errorf("the source's order was left behind: %+v", got)
		}
		if got := w.handle(lost); got.Immediate[0].Outcome != storage.Created {
			w.t.Errorf("an immediate notification was left behind: %+v", got)
		}
	})
}

func TestWhatABoundSchedulerDidCommitsWithItsTransaction(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.ensure(candidate(nil))
		err := w.store.InTx(w.ctx, func(tx storage.Tx) error {
			got, err := w.s.WithTx(tx).Ensure(w.ctx,
				candidate(func(c *automation.Candidate) { c.BusinessUnit = "other" }), candidate(func(c *automation.Candidate) { c.DaysBefore = 7 }))
			if err == nil || got[0].Outcome != storage.Conflict || got[1].Outcome != storage.Created {
				w.t.Errorf("%+v %v", got, err)
			}
			return nil // the conflict leaves the transaction usable
		})
		if err != nil {
			w.t.Fatal(err)
		}
		want := map[string]string{certificateKey: "Pending held InputConflict", key("2026-05-01", "7"): "Pending"}
		if diff := cmp.Diff(want, w.statuses()); diff != "" {
			w.t.Error(diff)
		}
	})
}

func TestTypesRegisteredBeforeAndAfterBindingAreShared(t *testing.T) {
	eachWorld(t, func(w *world) {
		err := w.store.InTx(w.ctx, func(tx storage.Tx) error {
			w.s.WithTx(tx).Register(certificates(nil))
			return nil
		})
		w.ensure(candidate(nil))
		w.pollAt(day(2026, 4, 1, 9))
		if row := w.row(certificateKey); row.Status != automation.StatusCompleted || err != nil {
			w.t.Error(row, err)
		}
	})
}
