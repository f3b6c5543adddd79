package automation_test

import (
	"context"
	"testing"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/storage"
)

// A class fills, empties and fills again, and nobody tells: each scan counts the
// rise or fall that it finds, as an event would have.
func TestI19_RisesThatNoEventToldAreCountedByReconciliation(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		w := newWorld(t, store, clk, nil)
		var version int64
		m := w.withMeter(func(t *automation.ReminderType) {
			t.Scan = &automation.Scan{SourceType: "class", Window: 1, Scopes: []automation.Scope{""}, Read: func(context.Context, automation.ScanRequest) (automation.ScanPage, error) {
				return automation.ScanPage{Done: true, Sources: []automation.ScannedSource{{Source: automation.Source{"class", "7"}, Version: version}}}, nil
			}}
		})
		run := func(dry bool) automation.ReconcileReport {
			t.Helper()
			r, err := w.s.Upkeep().Reconcile(w.ctx, "", "capacity", &automation.ReconcileOptions{FromStart: true, DryRun: dry})
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		for i, step := range []struct {
			reading string
			want    map[string]int
		}{
			{"5", map[string]int{"scanned": 1, "unchanged": 1, "pages": 1}},
			{"12", map[string]int{"scanned": 1, "created": 1, "pages": 1}},
			{"6", map[string]int{"scanned": 1, "deactivated": 1, "pages": 1}},
			{"12", map[string]int{"scanned": 1, "created": 1, "pages": 1}},
		} {
			version++
			m.set(line{value: "10", reading: step.reading}.under(automation.FalseToTrue))
			before := w.everything()
			dry := run(true)
			if diff := cmp.Diff(before, w.everything()); diff != "" {
				t.Error("a dry run wrote:", diff)
			}
			got := run(false)
			if diff := cmp.Diff(step.want, counts(got)); diff != "" || !cmp.Equal(counts(dry), counts(got)) {
				t.Errorf("step %d: %s; dry %v", i, diff, counts(dry))
			}
			before = w.everything()
			if again := run(false); again.Unchanged != 1 || before != w.everything() {
				t.Errorf("step %d, repeated: %v", i, counts(again))
			}
		}
		want := map[string]string{
			thresholdKey("10:FalseToTrue:source@1"): "Deactivated ThresholdNoLongerMet", thresholdKey("10:FalseToTrue:source@2"): "Pending",
		}
		if diff := cmp.Diff(want, w.statuses()); diff != "" {
			t.Error(diff)
		}
		if got := w.conditions()["bookings 10 source"]; got.Rises != 2 || got.SourceVersion != 4 {
			t.Errorf("%+v", w.conditions())
		}
		if got := w.handle(booked(3)); got.Outcome != automation.EventStale {
			t.Errorf("%+v", got)
		}
	})
}
