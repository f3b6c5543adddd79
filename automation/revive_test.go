package automation_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/causes"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/reasons"
)

// What was told by a later reminder is not told after it, however often an event asks.
func TestAnOvertakenRowStaysEnded(t *testing.T) {
	eachWorld(t, func(w *world) {
		p := w.withTriggers(func(t *automation.ReminderType) {
			t.Lateness.CatchUp, t.Lateness.OnlyLatest = 90*24*time.Hour, true
		})
		p.set(offsets(date(2026, 5, 1), 30, 7)...)
		w.handle(changed(1))
		w.clk.Set(day(2026, 4, 24, 9)) // nothing ran for weeks
		w.runAll()
		want := map[string]string{key("2026-05-01", "30"): "Deactivated Overtaken", key("2026-05-01", "7"): "Completed"}
		if diff := cmp.Diff(want, w.statuses()); diff != "" {
			w.t.Error(diff)
		}
		got := w.handle(changed(2))
		w.runAll()
		if diff := cmp.Diff(want, w.statuses()); diff != "" {
			w.t.Error(got, diff)
		}
		p.set(offsets(date(2026, 5, 1), 30)...) // nobody asks for the later one any more
		w.handle(changed(3))
		w.runAll()
		if diff := cmp.Diff(want, w.statuses()); diff != "" {
			w.t.Error(diff)
		}
		if got := w.out.dispatched(); len(got) != 1 {
			w.t.Errorf("dispatched %v", got)
		}
	})
}

// A row that ended at its moment comes back within CatchUp, and not weeks later: the
// same for events, a host's own call and reconciliation.
func TestARowThatEndedComesBackWithinCatchUp(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		later time.Duration
		want  string
		ended automation.Reason
	}{
		"an hour":                   {time.Hour, "Completed", ""},
		"three weeks":               {21 * 24 * time.Hour, "Deactivated NoRecipients", ""},
		"an hour, sent before":      {time.Hour, "Deactivated SentByOldJob", reasons.SentByOldJob},
		"ten days, sent before":     {10 * 24 * time.Hour, "Deactivated SentByOldJob", reasons.SentByOldJob},
		"an hour, of another cause": {time.Hour, "Completed", "OnLeave"},
		"two days, likewise":        {48 * time.Hour, "Deactivated OnLeave", "OnLeave"},
	} {
		for how, again := range map[string]func(w *world){
			"event":          func(w *world) { w.handle(changed(2)) },
			"ensure":         func(w *world) { w.ensure(candidate(nil)) },
			"reconciliation": func(w *world) { w.reconcile(automation.ReconcileOptions{FromStart: true}) },
		} {
			t.Run(name+"/"+how, func(t *testing.T) {
				eachWorld(t, func(w *world) {
					ended := true
					p := &triggers{}
					p.set(automation.Candidate{TargetDate: date(2026, 5, 1), DaysBefore: 30, SendAt: "09:00", Zone: "UTC"})
					w.s.Register(certificates(func(t *automation.ReminderType) {
						t.Triggers = p
						t.Scan = &automation.Scan{SourceType: "employee", Window: 100, Scopes: []automation.Scope{""}, Read: func(context.Context, automation.ScanRequest) (automation.ScanPage, error) {
							return automation.ScanPage{Done: true, Sources: []automation.ScannedSource{{Source: changed(2).Source, Version: 2}}}, nil
						}}
						t.Validator = automation.ValidatorFunc(func(context.Context, automation.Due) (automation.Validity, error) {
							if ended && c.ended != "" {
								return automation.NoLongerValid(c.ended), nil
							}
							return automation.StillValid(), nil
						})
						t.Recipients = automation.RecipientFunc(func(context.Context, automation.Due) ([]notify.Recipient, error) {
							if ended {
								return nil, nil
							}
							return []notify.Recipient{sam}, nil
						})
					}))
					w.handle(changed(1))
					w.pollAt(day(2026, 4, 1, 9))
					ended = false
					w.clk.Add(c.later)
					again(w)
					w.runAll()
					if got := w.statuses()[certificateKey]; got != c.want {
						w.t.Errorf("%s, want %s", got, c.want)
					}
				})
			})
		}
	}
}

// What is known to be too late is said, with the row as it is.
func TestAnEndedRowThatIsTooLateIsSaid(t *testing.T) {
	eachWorld(t, func(w *world) {
		p := w.withTriggers(nil)
		p.set(automation.Candidate{TargetDate: date(2026, 5, 1), DaysBefore: 30})
		w.handle(changed(1))
		p.set()
		w.handle(changed(2))
		w.clk.Set(day(2026, 4, 20, 9))
		p.set(automation.Candidate{TargetDate: date(2026, 5, 1), DaysBefore: 30})
		got := w.handle(changed(3)).Ensured[0]
		if got.Outcome != causes.OffsetPassed || got.Status != automation.StatusDeactivated {
			w.t.Errorf("%+v", got)
		}
		if got := w.ensure(candidate(nil))[0]; got.Outcome != causes.OffsetPassed {
			w.t.Errorf("%+v", got)
		}
	})
}
