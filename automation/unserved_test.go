package automation_test

import (
	"strings"
	"testing"
	"time"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/health"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
)

// sweep looks for what nobody serves.
func (w *world) sweep() {
	w.t.Helper()
	_, err := passOf(w.s, "automation.unserved").Runner(work.Options{}).Poll(w.ctx, 1)
	w.must(err)
}

// A reminder of a type that no process has is on hold with a reason after an hour, Health
// shows it before, and it goes on when a process has registered the type.
func TestAReminderOfATypeThatNobodyHasIsHeldAndGoesOn(t *testing.T) {
	eachWorld(t, func(w *world) {
		made := w.clk.Now().UTC()
		key := w.ensure(candidate(nil))[0].Key
		w.clk.Set(day(2026, 4, 1, 9))
		for range 4 {
			w.sweep()
			if due := w.health(storage.Everywhere()).Unserved(); len(due) != 1 || due[0].Rows != 1 {
				w.t.Fatal(due)
			}
			w.clk.Add(15 * time.Minute)
		}
		w.sweep()
		holds := w.health(storage.Everywhere()).Holds
		if want := (health.Count{Table: "automation_scheduler", Reason: reasons.Unserved, Rows: 1, OldestOn: made}); len(holds) != 1 || holds[0] != want {
			w.t.Fatal(holds)
		}
		told, err := w.s.Explain(w.ctx, "", key)
		if err != nil || !strings.Contains(told.String(), `on hold (Unserved): no process has registered "certificate" for 1h0m0s`) {
			w.t.Error(told, err)
		}
		w.s.Register(certificates(nil))
		w.sweep()
		w.poll()
		if row := w.row(key); row.Status != automation.StatusCompleted || row.IsOnSupportHold {
			w.t.Errorf("%+v", row)
		}
	})
}
