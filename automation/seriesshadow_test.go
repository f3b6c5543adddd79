package automation_test

import (
	"testing"
	"time"

	"github.com/belfry-go/belfry/automation"
)

// What the old scheduler has of a series whose part is past it is passed over: no move
// will come that could wake the series.
func TestASeriesGoesOnBehindWhatTheOldSchedulerHas(t *testing.T) {
	nine := func(d int) time.Time { return day(2026, 3, d, 9) }
	t.Run("it asked before there was a row", func(t *testing.T) {
		eachWorld(t, func(w *world) {
			w.guardCertificates(nil)
			w.to(certificatesPart, automation.StageScheduled)
			w.ensure(daily(nil))
			for d := 2; d <= 3; d++ {
				if !w.old(on(nine(d)), "") {
					w.t.Errorf("the old scheduler was refused a run that nobody knew: %d", d)
				}
			}
			w.pollAt(day(2026, 3, 3, 12))
			w.wantShort("03-01T09:00 Completed", "03-02T09:00 Deactivated Shadow", "03-03T09:00 Deactivated Shadow", "03-04T09:00 Pending")
			w.owned(on(nine(4)), automation.AutomationScheduler, automation.OwnershipOwned)
		})
	})
	t.Run("it ran before its moment, then the part moved", func(t *testing.T) {
		eachWorld(t, func(w *world) {
			w.guardCertificates(nil)
			w.ensure(daily(nil))
			if !w.old(on(nine(1)), "") {
				w.t.Error("refused")
			}
			w.to(certificatesPart, automation.StageScheduled)
			w.wantShort("03-01T09:00 Deactivated Shadow", "03-02T09:00 Pending")
		})
	})
	t.Run("it ran before its moment, then the host asked for the series", func(t *testing.T) {
		eachWorld(t, func(w *world) {
			w.guardCertificates(nil)
			w.to(certificatesPart, automation.StageScheduled)
			if !w.old(on(nine(1)), "") {
				w.t.Error("refused")
			}
			w.ensure(daily(nil))
			w.wantShort("03-01T09:00 Deactivated Shadow", "03-02T09:00 Pending")
		})
	})
	t.Run("support gave a run back", func(t *testing.T) {
		eachWorld(t, func(w *world) {
			w.guardCertificates(nil)
			w.to(certificatesPart, automation.StageScheduled)
			w.ensure(daily(nil))
			w.must(w.s.Rollout().TransferOwnership(w.ctx, "", on(nine(1)), automation.OldScheduler, ann))
			w.wantShort("03-01T09:00 Deactivated Shadow", "03-02T09:00 Pending")
			w.owned(on(nine(1)), automation.OldScheduler, automation.OwnershipOwned)
		})
	})
}

// A row that is made in shadow while its part moves on is woken by nobody.
func TestASeriesThatSleepsBehindItsPartIsLost(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.guardCertificates(nil)
		w.ensure(daily(nil))
		w.setStage(certificatesPart, automation.StageScheduled)
		w.clk.Set(day(2026, 3, 1, 12))
		if health, err := w.s.Health(w.ctx); err != nil || len(health.Lost) != 1 || health.Lost[0].Key != on(day(2026, 3, 1, 9)) {
			w.t.Errorf("%+v %v", health, err)
		}
		w.ensure(daily(nil))
		w.wantShort("03-01T09:00 Deactivated Shadow", "03-02T09:00 Pending")
		if health, err := w.s.Health(w.ctx); err != nil || len(health.Lost) != 0 {
			w.t.Errorf("%+v %v", health, err)
		}
	})
}
