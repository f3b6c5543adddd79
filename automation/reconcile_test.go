package automation_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
)

// drifted is a host in which every kind of difference has come up unseen.
func (w *world) drifted() *staff {
	w.t.Helper()
	s := w.withStaff(nil)
	w.hire(s, 6)
	for id := range s.people {
		if id != "001" { // whose event is lost
			w.hear(s, id)
		}
	}
	w.pollAt(day(2026, 4, 1, 9)) // the first reminders go out
	w.clk.Set(day(2026, 4, 2, 10))
	s.set("002", person{expires: date(2026, 6, 1), version: 2, changed: w.clk.Now()}) // renewed
	w.change(keyOf("003", "2026-05-01", 7), func(r *automation.ScheduleRow) { automation.EndRow(r, w.clk.Now(), reasons.Invalidated) })
	w.change(keyOf("004", "2026-05-01", 7), func(r *automation.ScheduleRow) { r.SendAt, r.ScheduledOn = "10:00", r.ScheduledOn.Add(-1) })
	w.replace("005")
	return s
}

// replace gives the later row of a person another input.
func (w *world) replace(id string) {
	w.t.Helper()
	err := w.store.InTx(w.ctx, func(tx storage.Tx) error {
		row, err := automation.Schedules.Get(w.ctx, tx, "", keyOf(id, "2026-05-01", 7))
		if err != nil {
			return err
		}
		if err := automation.Schedules.Delete(w.ctx, tx, row); err != nil {
			return err
		}
		row.InputHash = "another"
		_, err = automation.Schedules.Insert(w.ctx, tx, row)
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

func TestReconciliationRepairsWhatNoEventTold(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.drifted()
		got := w.reconcile(automation.ReconcileOptions{FromStart: true})
		want := map[string]int{
			"scanned": 6, "unchanged": 1, "pages": 3,
			"created": 3, "deactivated": 1, "reactivated": 1, "updated": 1, "conflicts": 1, "passed": 1,
		}
		if diff := cmp.Diff(want, counts(got)); diff != "" {
			w.t.Error(diff)
		}
		wantRows := map[string]string{
			keyOf("001", "2026-05-01", 7):  "Pending", // its other offset has passed
			keyOf("002", "2026-06-01", 30): "Pending", keyOf("002", "2026-06-01", 7): "Pending",
			keyOf("002", "2026-05-01", 30): "Completed", keyOf("002", "2026-05-01", 7): "Deactivated Superseded",
			keyOf("003", "2026-05-01", 30): "Completed", keyOf("003", "2026-05-01", 7): "Pending Invalidated",
			keyOf("004", "2026-05-01", 30): "Completed", keyOf("004", "2026-05-01", 7): "Pending",
			keyOf("005", "2026-05-01", 30): "Completed", keyOf("005", "2026-05-01", 7): "Pending held InputConflict",
			keyOf("000", "2026-05-01", 30): "Completed", keyOf("000", "2026-05-01", 7): "Pending",
		}
		if diff := cmp.Diff(wantRows, w.statuses()); diff != "" {
			w.t.Error(diff)
		}
		if row := w.row(keyOf("004", "2026-05-01", 7)); row.SendAt != "09:00" || row.EventType != automation.EventReconcile {
			w.t.Errorf("%+v", row)
		}
		before := w.everything()
		again := w.reconcile(automation.ReconcileOptions{FromStart: true})
		if diff := cmp.Diff(map[string]int{"scanned": 6, "unchanged": 6, "pages": 3, "conflicts": 1, "passed": 1}, counts(again)); diff != "" {
			w.t.Error(diff)
		}
		if diff := cmp.Diff(before, w.everything()); diff != "" {
			w.t.Error("all was as wanted, and yet:", diff)
		}
	})
}

func TestADryRunTellsWhatARunWouldDoAndWritesNothing(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.drifted()
		before := w.everything()
		dry := w.reconcile(automation.ReconcileOptions{FromStart: true, DryRun: true})
		if diff := cmp.Diff(before, w.everything()); diff != "" {
			w.t.Error("a dry run wrote:", diff)
		}
		var kinds []string
		for _, d := range dry.Differences {
			kinds = append(kinds, strings.TrimSpace(string(d.Kind)+" "+d.Source.ID+" "+d.Detail))
		}
		slices.Sort(kinds)
		want := []string{
			"WouldConflict 005", "WouldCreate 001", "WouldCreate 002", "WouldCreate 002",
			"WouldDeactivate 002 Superseded", "WouldReactivate 003", "WouldUpdate 004",
		}
		if diff := cmp.Diff(want, kinds); diff != "" {
			w.t.Error(diff)
		}
		real := w.reconcile(automation.ReconcileOptions{FromStart: true})
		if diff := cmp.Diff(counts(dry), counts(real)); diff != "" {
			w.t.Error("the run did something else:", diff)
		}
	})
}

// A dry run and a run agree about a source that has shown a newer version.
func TestAnOlderPageIsNotApplied(t *testing.T) {
	eachWorld(t, func(w *world) {
		s := w.withStaff(nil)
		w.hire(s, 1)
		s.set("000", person{expires: date(2026, 6, 1), version: 5, changed: w.clk.Now()})
		w.hear(s, "000")
		s.set("000", person{expires: date(2026, 5, 1), version: 4, changed: w.clk.Now()}) // a replica behind
		before := w.everything()
		for _, dry := range []bool{true, false} {
			got := w.reconcile(automation.ReconcileOptions{FromStart: true, DryRun: dry})
			if diff := cmp.Diff(map[string]int{"scanned": 1, "stale": 1, "pages": 1}, counts(got)); diff != "" {
				w.t.Error(dry, diff)
			}
		}
		if diff := cmp.Diff(before, w.everything()); diff != "" {
			w.t.Error(diff)
		}
	})
}

// A repaired source has shown its version: an event that is older comes too late.
func TestAnEventOlderThanARepairIsNotApplied(t *testing.T) {
	eachWorld(t, func(w *world) {
		s := w.withStaff(nil)
		s.set("000", person{expires: date(2026, 6, 1), version: 5, changed: w.clk.Now()})
		w.reconcile(automation.ReconcileOptions{})
		got := w.handle(automation.Event{Type: "certificate-changed", Source: automation.Source{"employee", "000"}, Version: 4})
		if got.Outcome != automation.EventStale || got.SourceVersion != 5 {
			w.t.Errorf("%+v", got)
		}
	})
}

// Between the page and the repair a source without versions changes: what is
// applied is what it says behind its row's lock.
func TestASourceWithoutVersionsIsAskedAgainInsideTheTransaction(t *testing.T) {
	eachWorld(t, func(w *world) {
		s := w.withStaff(nil)
		s.set("000", person{expires: date(2026, 5, 1), changed: w.clk.Now()})
		var asked []bool
		s.asked = func(r automation.Request) error {
			asked = append(asked, r.Event.Data != nil)
			s.people["000"] = person{expires: date(2026, 6, 1), changed: s.people["000"].changed}
			return nil
		}
		w.reconcile(automation.ReconcileOptions{})
		if diff := cmp.Diff([]bool{true, false}, asked); diff != "" {
			w.t.Error(diff)
		}
		want := map[string]string{keyOf("000", "2026-06-01", 30): "Pending", keyOf("000", "2026-06-01", 7): "Pending"}
		if diff := cmp.Diff(want, w.statuses()); diff != "" {
			w.t.Error(diff)
		}
	})
}

// Changed settings reach the sources that exist by a run from the start.
func TestASettingsChangeReachesExistingSources(t *testing.T) {
	eachWorld(t, func(w *world) {
		s := w.withStaff(nil)
		w.hire(s, 3)
		for id := range s.people {
			w.hear(s, id)
		}
		w.clk.Add(time.Hour)
		w.scanAll()
		s.offsets, s.sendAt = []int{20, 7}, "17:00"
		if got := w.reconcile(automation.ReconcileOptions{}); got.Scanned != 0 {
			w.t.Errorf("no source has changed since: %+v", counts(got))
		}
		got := w.reconcile(automation.ReconcileOptions{FromStart: true})
		if diff := cmp.Diff(map[string]int{"scanned": 3, "created": 3, "deactivated": 3, "updated": 3, "pages": 2}, counts(got)); diff != "" {
			w.t.Error(diff)
		}
		for id := range s.people {
			if row := w.row(keyOf(id, "2026-05-01", 20)); row.Status != automation.StatusPending || row.SendAt != "17:00" {
				w.t.Errorf("%+v", row)
			}
		}
	})
}
