package report_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/report"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// scanState is how far the scan of the empty scope's subscriptions has come.
func (w *world) scanState() automation.ReconciliationState {
	w.Helper()
	states, err := w.work.Maintenance().Reconciliations(w.ctx, "")
	if err != nil || len(states) != 1 || states[0].Type != automation.TypeReportSubscription {
		w.Fatal(states, err)
	}
	return states[0]
}

// nextScan polls when the scan is due.
func (w *world) nextScan() {
	w.Helper()
	w.pollAt(w.scanState().NextOn)
}

// The zone of a business unit moves runs within hours, though nobody says so.
func TestAScanMovesRunsToANewZone(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.create(weekly(nil))
		w.create(weekly(func(s *report.Subscription) { s.GUID = "g-2" }))
		w.must(w.reports.Pause(w.ctx, "", "g-2", support))
		w.nextScan()
		if last := w.scanState().Last; last == nil || last.Scanned != 1 || last.Unchanged != 1 {
			w.Errorf("%+v", last)
		}
		w.unit = "America/New_York"
		w.nextScan()
		want := []string{"scheduled:2026-03-02T14:00:00Z Pending", "scheduled:2026-03-02T09:00:00Z Deactivated Superseded"}
		if diff := cmp.Diff(want, w.runs("g-1")); diff != "" {
			w.Error(diff)
		}
		if last := w.scanState().Last; last.Created != 1 || last.Unchanged != 0 {
			w.Errorf("%+v", last)
		}
	})
}

// Who has settings of his own says what has changed, and does not wait for the scan.
func TestAReplanOfAllScansTheSubscriptions(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.create(weekly(nil))
		w.unit = "America/New_York"
		w.must(w.work.Maintenance().Replan(w.ctx, automation.Replan{BusinessUnit: "north"}))
		w.pollAt(at(3, 1, 8, 1))
		w.pollAt(at(3, 1, 8, 2))
		if runs := w.runs("g-1"); !slices.Contains(runs, "scheduled:2026-03-02T14:00:00Z Pending") {
			w.Error(runs)
		}
	})
}

// A run that is lost is made again, and one subscription that cannot be planned is
// named and holds up no other.
func TestAScanRestoresWhatIsLost(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.create(weekly(nil))
		w.create(weekly(func(s *report.Subscription) { s.GUID, s.Zone = "g-2", "UTC" }))
		lost := driver.ScopedKey{Key: "report-subscription:g-2:scheduled:2026-03-02T09:00:00Z"}
		w.must(w.store.InTx(w.ctx, func(tx storage.Tx) error {
			of := automation.Schemas()[0]
			found, err := tx.Get(w.ctx, of, []driver.ScopedKey{lost}, nil)
			if err == nil {
				_, err = tx.Delete(w.ctx, of, found)
			}
			return err
		}))
		if runs := w.runs("g-2"); len(runs) != 0 {
			w.Fatal(runs)
		}
		w.unit = "Mars/Olympus"
		w.nextScan()
		if runs := w.runs("g-2"); !slices.Equal(runs, []string{"scheduled:2026-03-02T09:00:00Z Pending"}) {
			w.Error(runs)
		}
		state := w.scanState()
		if want := []automation.Source{{Type: automation.TypeReportSubscription, ID: "g-1"}}; !slices.Equal(state.Skipped, want) || state.Last.Failed != 1 || state.Last.Created != 1 {
			w.Errorf("%+v %+v", state.Skipped, state.Last)
		}
		w.unit = "Europe/Dublin"
		w.nextScan()
		if state = w.scanState(); len(state.Skipped) != 0 || state.Last.Failed != 0 || state.Last.Scanned != 2 {
			w.Errorf("%+v", state)
		}
	})
}

// A tenant without subscriptions is not scanned, and is again when one comes.
func TestAScanEndsWithTheLastSubscription(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.create(weekly(nil))
		w.must(w.reports.Delete(w.ctx, "", "g-1", support))
		w.nextScan()
		if !w.scanState().Off {
			w.Errorf("%+v", w.scanState())
		}
		w.create(weekly(func(s *report.Subscription) { s.GUID = "g-2" }))
		if state := w.scanState(); state.Off || state.NextOn.Sub(w.clk.Now()) != 6*time.Hour {
			w.Errorf("%+v", state)
		}
	})
}

// A subscription that is changed between the scan's read and its write keeps the change.
func TestAScanUndoesNoChange(t *testing.T) {
	eachWorld(t, func(w *world) {
		old := automation.Candidate{
			AutomationType: automation.TypeReportSubscription, Type: "sales", BusinessUnit: "north",
			Source:     automation.Source{Type: automation.TypeReportSubscription, ID: "g-9"},
			Recurrence: &automation.Recurrence{Cron: "0 9 * * 1"},
		}
		changed := old
		changed.Recurrence = &automation.Recurrence{Cron: "0 9 * * 2"}
		reads := 0
		w.work.ScanReports(func(context.Context, driver.Reader, automation.Scope, storage.Page) ([]automation.Candidate, string, error) {
			if reads++; reads == 1 {
				return []automation.Candidate{old}, "", nil
			}
			return []automation.Candidate{changed}, "", nil
		})
		if _, err := w.work.RefreshReports(w.ctx, "", storage.Page{}); err != nil {
			w.Fatal(err)
		}
		if runs := w.runs("g-9"); !slices.Contains(runs, "scheduled:2026-03-03T09:00:00Z Pending") || slices.Contains(runs, "scheduled:2026-03-02T09:00:00Z Pending") {
			w.Error(runs)
		}
	})
}

// Without a service of reports there is nothing to refresh.
func TestNothingIsRefreshedWithoutReports(t *testing.T) {
	eachWorld(t, func(w *world) {
		errNo := errors.New("no")
		bare := automation.New(w.store, w.out, &automation.Options{Logger: quiet})
		if _, err := bare.RefreshReports(w.ctx, "", storage.Page{}); err == nil {
			w.Error("no error")
		}
		err := w.work.InHostTx(w.ctx, func(s *automation.Scheduler, _ storage.Tx) error {
			return errors.Join(s.KeepReports(w.ctx, ""), errNo)
		})
		if states, _ := w.work.Maintenance().Reconciliations(w.ctx, ""); !errors.Is(err, errNo) || len(states) != 0 {
			w.Error(states, err)
		}
	})
}
