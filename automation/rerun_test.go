package automation_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/storage"
)

func rerunKey(n string) string { return strings.Replace(certificateKey, "default", "default~"+n, 1) }

func (w *world) rerun(key string) automation.Ensured {
	w.t.Helper()
	out, err := w.s.Support().Rerun(w.ctx, "", key, ann)
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

// completed is a world in which the reminder of an event was sent.
func (w *world) completed(change func(*automation.ReminderType)) *triggers {
	w.t.Helper()
	p := w.withTriggers(change)
	p.set(offsets(date(2026, 5, 1), 30)...)
	w.handle(changed(1))
	w.pollAt(day(2026, 4, 1, 9))
	w.clk.Set(day(2026, 4, 20, 12))
	return p
}

// Each rerun is a delivery of its own, and a second click is none.
func TestARerunIsSentOnceMore(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.completed(func(t *automation.ReminderType) { t.Lateness.Window = 1 })
		if _, err := w.s.Support().Rerun(w.ctx, "", certificateKey, automation.By{Actor: "ann"}); err == nil {
			w.t.Error("without a reason")
		}
		for _, want := range []storage.Outcome{storage.Created, storage.Unchanged} {
			got := w.rerun(certificateKey)
			if got.Outcome != want || got.Key != rerunKey("1") || got.Status != automation.StatusPending || !got.ScheduledOn.Equal(w.clk.Now()) {
				w.t.Errorf("%+v", got)
			}
		}
		first, again := w.row(certificateKey), w.row(rerunKey("1"))
		if again.InputHash != first.InputHash || again.TargetDate != first.TargetDate || again.LocalDate != "2026-04-20" || len(again.DispatchResult) != 0 {
			w.t.Errorf("%+v", again)
		}
		w.poll()
		if got := w.rerun(certificateKey); got.Outcome != storage.Unchanged || got.Status != automation.StatusCompleted || got.Result.IsZero() {
			w.t.Errorf("%+v", got)
		}
		if diff := cmp.Diff([]string{certificateKey, rerunKey("1")}, w.out.dispatched()); diff != "" {
			w.t.Error(diff)
		}
		if w.out.jobs[0].RowKey == w.out.jobs[1].RowKey {
			w.t.Error("the second delivery is the first one's")
		}
		if got := w.rerun(rerunKey("1")); got.Outcome != storage.Created || got.Key != rerunKey("2") {
			w.t.Errorf("%+v", got)
		}
		if _, err := w.s.Support().Rerun(w.ctx, "", rerunKey("2"), ann); !errors.Is(err, automation.ErrActionRefused) || !strings.Contains(err.Error(), "it is Pending; what is not Completed is retried") {
			w.t.Error(err)
		}
		if _, err := w.s.Support().Rerun(w.ctx, "north", certificateKey, ann); !errors.Is(err, storage.ErrNotFound) {
			w.t.Error(err)
		}
	})
}

func TestARerunIsAuditedOnBothRows(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.completed(nil)
		w.rerun(certificateKey)
		w.rerun(certificateKey)
		want := []string{
			"03-01T08:00:00Z: Created by event certificate-changed e1",
			"04-01T09:00:00Z: Completed by due pass (Processing to Completed)",
			"04-20T12:00:00Z: Rerun by ann: a call from the school",
		}
		if diff := cmp.Diff(want, w.story(certificateKey)); diff != "" {
			w.t.Error(diff)
		}
		if diff := cmp.Diff([]string{"04-20T12:00:00Z: Created by ann: a call from the school"}, w.story(rerunKey("1"))); diff != "" {
			w.t.Error(diff)
		}
		e, err := w.s.Explain(w.ctx, "", rerunKey("1"))
		if err != nil || !strings.Contains(e.String(), "a rerun of "+certificateKey) {
			w.t.Error(err, e)
		}
	})
}

// What ends a rerun, and what does not.
func TestNoEventSupersedesARerun(t *testing.T) {
	for name, c := range map[string]struct {
		then func(w *world, p *triggers, settings settingsMap)
		want string
	}{
		"the same is asked for": {func(w *world, _ *triggers, _ settingsMap) { w.handle(changed(2)) }, "Completed"},
		"something else is": {func(w *world, p *triggers, _ settingsMap) {
			p.set(offsets(date(2027, 5, 1), 30)...)
			w.handle(changed(2))
		}, "Completed"},
		"the setting was off":       {func(w *world, _ *triggers, s settingsMap) { s["certificate"] = false; w.handle(changed(2)) }, "Deactivated ReminderSettingInactive"},
		"the setting is off by now": {func(_ *world, _ *triggers, s settingsMap) { s["certificate"] = false }, "Deactivated ReminderSettingInactive"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
				settings := settingsMap{"certificate": true}
				w := newWorld(t, store, clk, &automation.Options{Settings: settings})
				p := w.completed(nil)
				w.rerun(certificateKey)
				c.then(w, p, settings)
				w.poll()
				if got := w.statuses()[rerunKey("1")]; got != c.want {
					t.Errorf("%s, want %s", got, c.want)
				}
			})
		})
	}
}

// A rerun is valid if the row that was run first would be.
func TestARerunIsRevalidatedAsTheRowThatItRepeats(t *testing.T) {
	for name, c := range map[string]struct {
		now  automation.Validity
		want string
	}{
		"its source is there": {automation.StillValid(), "Completed"},
		"its source is gone":  {automation.NoLongerValid(""), "Deactivated SourceNoLongerValid"},
	} {
		t.Run(name, func(t *testing.T) {
			eachWorld(t, func(w *world) {
				now := automation.StillValid()
				w.completed(func(t *automation.ReminderType) {
					t.Validator = automation.ValidatorFunc(func(context.Context, automation.Due) (automation.Validity, error) { return now, nil })
				})
				w.rerun(certificateKey)
				now = c.now
				w.poll()
				if got := w.statuses()[rerunKey("1")]; got != c.want {
					w.t.Errorf("%s, want %s", got, c.want)
				}
			})
		})
	}
}

func TestAnInvalidationEndsARerun(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.completed(func(t *automation.ReminderType) {
			t.Invalidations = invalidating{{Setting: "certificate", Source: automation.Source{"employee", "7"}, Keys: []string{certificateKey}}}
		})
		w.rerun(certificateKey)
		w.handle(automation.Event{ID: "x", Type: "gone", Source: automation.Source{"employee", "7"}, Version: 9})
		if got := w.statuses()[rerunKey("1")]; got != "Deactivated Invalidated" {
			w.t.Error(got)
		}
	})
}

// invalidating answers an event "gone".
type invalidating []automation.Invalidation

func (invalidating) EventTypes() []string { return []string{"gone"} }

func (p invalidating) Invalidations(context.Context, automation.Event) ([]automation.Invalidation, error) {
	return p, nil
}

// A host's handler sees its own trigger key, and which run it is.
func TestAHostsTypeIsRunAgain(t *testing.T) {
	eachWorld(t, func(w *world) {
		var seen []automation.Due
		w.s.Handle(automation.WorkType{Name: "export", Handler: automation.HandlerFunc(func(_ context.Context, due []automation.Due) ([]automation.Outcome, error) {
			seen = append(seen, due...)
			return make([]automation.Outcome, len(due)), nil
		})})
		w.ensure(export("1"))
		w.poll()
		got := w.rerun(exportKey("1"))
		w.poll()
		if got.Key != "host:export:file:1:default~1" || len(seen) != 2 || seen[1].TriggerKey != "default" || seen[1].Rerun != 1 || seen[0].Rerun != 0 {
			w.t.Errorf("%+v %+v", got, seen)
		}
	})
}

func TestNoCandidateLooksLikeARerun(t *testing.T) {
	eachWorld(t, func(w *world) {
		for _, c := range []automation.Candidate{
			candidate(func(c *automation.Candidate) { c.TriggerKey = "default~1" }),
			{AutomationType: "export", Source: automation.Source{"file", "1"}, TriggerKey: "a~", ScheduledOn: start},
		} {
			var refused *automation.CandidateError
			if _, err := w.s.Ensure(w.ctx, c); !errors.As(err, &refused) || refused.Field != "TriggerKey" {
				w.t.Error(err)
			}
		}
	})
}
