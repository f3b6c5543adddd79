package automation_test

import (
	"context"
	"slices"
	"testing"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
)

//spec:a-068
func TestSettingsChanges(t *testing.T) {
	first := offsets(date(2026, 5, 1), 30)
	for name, c := range map[string]struct {
		then []automation.Candidate
		want map[string]string
	}{
		"offset: deactivated and made anew": {
			offsets(date(2026, 5, 1), 14),
			map[string]string{key("2026-05-01", "30"): "Deactivated Superseded", key("2026-05-01", "14"): "Pending"},
		},
		"date: deactivated and made anew": {
			offsets(date(2026, 6, 1), 30),
			map[string]string{key("2026-05-01", "30"): "Deactivated Superseded", key("2026-06-01", "30"): "Pending"},
		},
		"time of sending: moved in place": {
			[]automation.Candidate{{TargetDate: date(2026, 5, 1), DaysBefore: 30, SendAt: "17:00"}},
			map[string]string{key("2026-05-01", "30"): "Pending"},
		},
		"nothing is wanted any more": {
			nil,
			map[string]string{key("2026-05-01", "30"): "Deactivated Superseded"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachWorld(t, func(w *world) {
				p := w.withTriggers(nil)
				p.set(first...)
				w.handle(changed(1))
				p.set(c.then...)
				w.handle(changed(2))
				if diff := cmp.Diff(c.want, w.statuses()); diff != "" {
					w.t.Error(diff)
				}
				if len(c.then) == 1 && c.then[0].SendAt != "" {
					if row := w.row(key("2026-05-01", "30")); !row.ScheduledOn.Equal(day(2026, 4, 1, 17)) {
						w.t.Error(row.ScheduledOn)
					}
				}
			})
		})
	}
}

// Template and recipients may change as they like: they are read when due.
//
//spec:a-039
func TestAChangedTemplateLeavesThePendingRow(t *testing.T) {
	eachWorld(t, func(w *world) {
		p := w.withTriggers(nil)
		p.set(offsets(date(2026, 5, 1), 30)...)
		w.handle(changed(1))
		before := w.rows()
		next := newWorld(w.t, w.store, w.clk, nil) // the next version of the program
		next.s.Register(certificates(func(t *automation.ReminderType) {
			t.Triggers, t.Template = p, notify.Template{Subject: "new"}
			t.Recipients = automation.RecipientFunc(func(context.Context, automation.Due) ([]notify.Recipient, error) {
				return []notify.Recipient{{Ref: "kim", Channel: "email:print", Address: "kim@example.com"}}, nil
			})
		}))
		next.handle(changed(2))
		if diff := cmp.Diff(before, w.rows()); diff != "" {
			w.t.Error(diff)
		}
		next.pollAt(day(2026, 4, 1, 9))
		if job := next.out.jobs[0]; job.Recipients[0].Ref != "kim" {
			w.t.Errorf("%+v", job)
		}
	})
}

//spec:a-092
func TestASettingThatIsOffEndsItsRowsAndKeepsTheCompletedOnes(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		settings := settingsMap{"certificate": true}
		w := newWorld(t, store, clk, &automation.Options{Settings: settings})
		p := w.withTriggers(nil)
		p.set(offsets(date(2026, 5, 1), 30, 7)...)
		w.handle(changed(1))
		w.pollAt(day(2026, 4, 1, 9))
		settings["certificate"] = false
		got := w.handle(changed(2))
		if !slices.Equal(outcomes(got), []automation.EnsureOutcome{automation.SettingInactive, automation.SettingInactive}) {
			t.Errorf("%+v", got)
		}
		want := map[string]string{key("2026-05-01", "30"): "Completed", key("2026-05-01", "7"): "Deactivated ReminderSettingInactive"}
		if diff := cmp.Diff(want, w.statuses()); diff != "" {
			t.Error(diff)
		}
		settings["certificate"] = true
		w.handle(changed(3))
		if got := w.row(key("2026-05-01", "7")); got.Status != automation.StatusPending {
			t.Errorf("%+v", got)
		}
	})
}

// settingsMap says which settings are active.
type settingsMap map[string]bool

func (m settingsMap) Setting(_ context.Context, _ automation.Scope, id string) (automation.Setting, error) {
	return automation.Setting{Active: m[id], Data: "data of " + id}, nil
}
