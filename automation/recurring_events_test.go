package automation_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/causes"
	"github.com/belfry-go/belfry/reasons"
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
		if diff := cmp.Diff([]automation.Deactivation{{on(day(2026, 3, 1, 9)), reasons.Superseded}}, r.Deactivated); diff != "" {
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

// routine is one employee with a cadence, that a scan finds.
type routine struct{ asks []automation.Candidate }

func (*routine) EventTypes() []string { return []string{"certificate-changed"} }

func (r *routine) Wanted(_ context.Context, of []automation.Request) ([]automation.Answer, error) {
	return wants(of, func(automation.Request) []automation.Candidate { return r.asks })
}

func (r *routine) read(context.Context, automation.ScanRequest) (automation.ScanPage, error) {
	return automation.ScanPage{Sources: []automation.ScannedSource{{Source: seven, Version: 1}}, Next: "7", Done: true}, nil
}

func (w *world) withRoutine(c ...automation.Candidate) *routine {
	r := &routine{asks: c}
	w.s.Register(certificates(func(t *automation.ReminderType) {
		t.Triggers, t.Scan = r, &automation.Scan{Read: r.read, SourceType: "employee", Window: 100, Scopes: []automation.Scope{""}}
	}))
	return r
}

// differs compares what a dry run says with what a run does.
func (w *world) differs(want ...string) {
	w.t.Helper()
	for _, dry := range []bool{true, false} {
		var got []string
		for _, d := range w.reconcile(automation.ReconcileOptions{DryRun: dry, FromStart: true}).Differences {
			got = append(got, fmt.Sprint(d.Kind, " ", d.Key[len(d.Key)-15:len(d.Key)-4]))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			w.t.Errorf("dry run %v: %s", dry, diff)
		}
	}
}

func TestReconciliationOfASeries(t *testing.T) {
	eachWorld(t, func(w *world) {
		r := w.withRoutine(daily(nil))
		w.differs("WouldCreate 03-01T09:00")
		w.differs()
		w.clk.Set(day(2026, 3, 1, 12))
		w.differs() // it is late, and the current one all the same
		w.runAll()
		w.differs()
		w.change(on(day(2026, 3, 2, 9)), func(r *automation.ScheduleRow) { automation.EndRow(r, w.clk.Now(), "ByHand") }) // a row is lost
		w.differs("WouldReactivate 03-02T09:00")
		r.asks = []automation.Candidate{cron("0 18 * * *")}
		w.differs("WouldDeactivate 03-02T09:00", "WouldCreate 03-02T18:00")
		w.differs()
		r.asks = []automation.Candidate{cron("0 18 * * SUN-TUE")} // as before, for now
		w.differs("WouldUpdate 03-02T18:00")
		w.differs()
		r.asks = nil
		w.differs("WouldDeactivate 03-02T18:00")
		w.differs()
		w.wantShort("03-01T09:00 Completed", "03-02T09:00 Deactivated Superseded", "03-02T18:00 Deactivated Superseded")
		w.clk.Set(day(2026, 3, 9, 12))
		if len(w.lost()) != 0 {
			w.t.Error("the series goes on")
		}
	})
}

func TestWhyASeriesHasNoRow(t *testing.T) {
	eachWorld(t, func(w *world) {
		r := w.withRoutine(daily(nil))
		w.because("certificate", causes.NotAskedYet, "03-01T09:00")
		w.ensure(daily(nil))
		w.because("certificate", causes.Exists, "03-01T09:00")
		once := &automation.Recurrence{RRule: "FREQ=DAILY;COUNT=1", Start: date(2026, 3, 1)}
		r.asks = []automation.Candidate{daily(func(c *automation.Candidate) { c.SendAt, c.Recurrence = "09:00", once })}
		w.ensure(r.asks...)
		w.clk.Set(day(2026, 3, 1, 12))
		w.runAll()
		w.because("certificate", causes.SeriesEnded)
	})
}

// A rerun is a delivery beside the series, about the same occurrence.
func TestARerunOfAnOccurrence(t *testing.T) {
	eachWorld(t, func(w *world) {
		r := w.withRoutine(daily(nil))
		w.ensure(daily(nil))
		w.pollAt(day(2026, 3, 1, 9))
		w.clk.Set(day(2026, 3, 1, 15))
		again := w.rerun(on(day(2026, 3, 1, 9)))
		w.handle(changed(2))
		w.runAll()
		row := w.row(again.Key)
		due, err := automation.RowDue(&row)
		if err != nil || row.Status != automation.StatusCompleted || !due.Occurrence.On.Equal(day(2026, 3, 1, 9)) {
			w.t.Errorf("%+v %v", row, err)
		}
		if same, err := automation.CandidateAsksFor(w.ctx, w.s, r.asks[0], &row); err != nil || !same {
			w.t.Error("the series does not ask for it", err)
		}
		w.oneRunningRowEach(1)
	})
}

// Support in bulk moves each series on.
func TestSupportInBulkMovesSeriesOn(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(nil))
		var keys []string
		for n := range 5 {
			keys = append(keys, w.ensure(daily(func(c *automation.Candidate) { c.TriggerKey = fmt.Sprint(n) }))[0].Key)
		}
		if _, err := w.s.Support().Bulk(w.ctx, "", automation.ActionCancel, automation.Selection{Keys: keys}, ann, nil); err != nil {
			w.t.Fatal(err)
		}
		w.oneRunningRowEach(5)
	})
}
