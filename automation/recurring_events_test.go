package automation_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/storage"
)

// An event says the same while the occurrence is due: it neither ends nor
// doubles it.
func TestAnEventLeavesTheCurrentOccurrence(t *testing.T) {
	eachWorld(t, func(w *world) {
		p := w.withSeries(daily(nil))
		w.clk.Set(day(2026, 3, 1, 12))
		w.handle(changed(2))
		w.wantShort("03-01T09:00 Pending")
		w.claim(time.Minute)
		if r := w.handle(changed(3)); r.Ensured[0].Outcome != storage.InFlight || len(r.Deactivated) != 0 {
			w.t.Errorf("%+v", r)
		}
		p.set() // the source asks no more
		r := w.handle(changed(4))
		if diff := cmp.Diff([]automation.Deactivation{{on(day(2026, 3, 1, 9)), automation.Superseded}}, r.Deactivated); diff != "" {
			w.t.Error(diff)
		}
		w.clk.Set(day(2026, 3, 5, 12))
		w.runAll()
		w.wantShort("03-01T09:00 Deactivated Superseded")
		if len(w.lost()) != 0 {
			w.t.Error("the series has not ended")
		}
		p.set(daily(nil)) // and asks again
		w.handle(changed(5))
		w.wantShort("03-01T09:00 Deactivated Superseded", "03-06T09:00 Pending")
	})
}

func TestASettingThatIsSwitchedOffAndOn(t *testing.T) {
	t.Parallel()
	for _, when := range []string{"by an event", "when due"} {
		t.Run(when, func(t *testing.T) {
			eachWorld(t, func(w *world) {
				active := true
				w.opts.Settings = settingsFunc(func(string) bool { return active })
				w.s = automation.New(w.store, w.out, &w.opts)
				w.withSeries(daily(nil))
				active = false
				if when == "by an event" {
					w.handle(changed(2))
				}
				w.pollAt(day(2026, 3, 1, 9))
				w.wantShort("03-01T09:00 Deactivated ReminderSettingInactive")
				active = true
				w.handle(changed(3))
				w.wantShort("03-01T09:00 Deactivated ReminderSettingInactive", "03-02T09:00 Pending")
				active = false
				w.handle(changed(4))
				active = true
				w.handle(changed(5)) // in time: the same row
				w.wantShort("03-01T09:00 Deactivated ReminderSettingInactive", "03-02T09:00 Pending ReminderSettingInactive")
			})
		})
	}
}

type settingsFunc func(id string) bool

func (f settingsFunc) Setting(_ context.Context, _ automation.Scope, id string) (automation.Setting, error) {
	return automation.Setting{Active: f(id)}, nil
}

func TestAnInvalidationEndsASeriesOrOneOccurrence(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in   automation.Invalidation
		want []string
	}{
		"one occurrence": {automation.Invalidation{Keys: []string{on(day(2026, 3, 1, 9))}}, []string{"03-01T09:00 Deactivated Invalidated", "03-02T09:00 Pending"}},
		"all of them":    {automation.Invalidation{Reason: "Deleted"}, []string{"03-01T09:00 Deactivated Deleted"}},
	} {
		t.Run(name, func(t *testing.T) {
			eachWorld(t, func(w *world) {
				c.in.Setting = "certificate"
				w.s.Register(certificates(func(t *automation.ReminderType) {
					t.Invalidations = invalidations(func() []automation.Invalidation { return []automation.Invalidation{c.in} })
				}))
				w.ensure(daily(nil))
				w.handle(automation.Event{ID: "e1", Type: "left", Source: automation.Source{"employee", "7"}, Version: 1})
				w.wantShort(c.want...)
				w.pollAt(day(2026, 3, 1, 9))
				w.wantShort(c.want...)
			})
		})
	}
}
