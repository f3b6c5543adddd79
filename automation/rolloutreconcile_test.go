package automation_test

import (
	"testing"

	"github.com/belfry-go/belfry/automation"
)

// Reconciliation keeps rows in shadow as the sources want them, finds nothing to
// do where they are, and says so in a dry run.
func TestReconciliationKeepsRowsInShadow(t *testing.T) {
	eachWorld(t, func(w *world) {
		s := &staff{people: map[string]person{}, offsets: []int{30, 7}, sendAt: "09:00"}
		scan := &automation.Scan{Read: s.Read, SourceType: "employee", Window: 100, Batch: 2, Scopes: []automation.Scope{""}}
		w.guardCertificates(func(t *automation.ReminderType) { t.Triggers, t.Scan = s, scan })
		w.hire(s, 3)
		all := automation.ReconcileOptions{FromStart: true}
		if got := w.reconcile(all); got.Created != 6 {
			w.t.Errorf("%+v", got)
		}
		w.is(keyOf("001", "2026-05-01", 30), "Deactivated Shadow")
		for _, dry := range []bool{true, false} {
			if got := w.reconcile(automation.ReconcileOptions{FromStart: true, DryRun: dry}); got.Unchanged != 3 || got.Updated+got.Reactivated+got.Deactivated != 0 {
				w.t.Errorf("dry run %v: %+v", dry, got)
			}
		}
		s.set("001", person{expires: date(2026, 6, 1), version: 2, changed: w.clk.Now()})
		if got := w.reconcile(all); got.Created != 2 || got.Deactivated != 2 {
			w.t.Errorf("%+v", got)
		}
		w.is(keyOf("001", "2026-05-01", 30), "Deactivated Superseded")
		w.to(certificatesPart, automation.StageScheduled)
		w.is(keyOf("001", "2026-05-01", 30), "Deactivated Superseded")
		w.is(keyOf("001", "2026-06-01", 30), "Pending Shadow")
		if got := w.reconcile(all); got.Unchanged != 3 {
			w.t.Errorf("%+v", got)
		}
	})
}
