package automation_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/gate"
	"github.com/belfry-go/belfry/reasons"
)

func TestI18_EveryAnswerOfAValidatorSaysWhatBecomesOfTheRow(t *testing.T) {
	for name, story := range map[string]struct {
		says automation.Validity
		want string
	}{
		"still valid":                  {automation.StillValid(), "Completed"},
		"no answer at all":             {automation.Validity{}, "Deactivated SourceNoLongerValid"},
		"no longer valid":              {automation.NoLongerValid(""), "Deactivated SourceNoLongerValid"},
		"no longer valid for a reason": {automation.NoLongerValid("CourseCancelled"), "Deactivated CourseCancelled"},
	} {
		t.Run(name, func(t *testing.T) {
			eachWorld(t, func(w *world) {
				w.s.Register(certificates(func(t *automation.ReminderType) {
					t.Validator = automation.ValidatorFunc(func(context.Context, automation.Due) (automation.Validity, error) { return story.says, nil })
				}))
				w.ensure(candidate(nil))
				w.pollAt(day(2026, 4, 1, 9))
				if got := w.statuses()[certificateKey]; got != story.want {
					w.t.Errorf("%s, want %s", got, story.want)
				}
				if row := w.row(certificateKey); row.RetryCount != 0 {
					w.t.Errorf("counted as a failure: %+v", row)
				}
			})
		})
	}
}

func TestI18_EveryAnswerOfAProviderSaysWhatBecomesOfTheDueRow(t *testing.T) {
	for name, story := range map[string]struct {
		wants []automation.Candidate
		want  string
	}{
		"the same":             {offsets(date(2026, 5, 1), 30), "Completed"},
		"something else":       {offsets(date(2026, 6, 1), 30), "Deactivated InputChanged"},
		"nothing any more":     {nil, "Deactivated Superseded"},
		"another day before":   {offsets(date(2026, 5, 1), 7), "Deactivated InputChanged"},
		"the same and another": {offsets(date(2026, 5, 1), 30, 7), "Completed"},
	} {
		t.Run(name, func(t *testing.T) {
			eachWorld(t, func(w *world) {
				w.withTriggers(nil).set(story.wants...)
				w.ensure(candidate(nil))
				w.pollAt(day(2026, 4, 1, 9))
				if got := w.statuses()[certificateKey]; got != story.want {
					w.t.Errorf("%s, want %s", got, story.want)
				}
				if row := w.row(certificateKey); row.RetryCount != 0 {
					w.t.Errorf("counted as a failure: %+v", row)
				}
			})
		})
	}
}

// What a handler says about a row that it ends is kept with the row.
func TestAHandlersResultIsKeptWithARowThatItEnds(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Handle(automation.WorkType{Name: "export", Handler: automation.HandlerFunc(func(_ context.Context, due []automation.Due) ([]automation.Outcome, error) {
			out := automation.Outcome{Deactivate: "FileGone"}
			out.Result.Summary = "moved to the archive"
			return []automation.Outcome{out}, nil
		})})
		got := w.ensure(automation.Candidate{AutomationType: "export", Source: automation.Source{"file", "budget"}, ScheduledOn: start})
		w.poll()
		row := w.row(got[0].Key)
		result, err := row.Dispatched()
		want := []string{"Deactivated", "FileGone", "FileGone", "moved to the archive"}
		if diff := cmp.Diff(want, []string{row.Status, row.ReasonCode, result.SkippedReason, result.Summary}); err != nil || diff != "" {
			w.t.Error(err, diff)
		}
	})
}

func TestARowThatCannotBeReadIsHeldAtOnceAndBlocksNoOther(t *testing.T) {
	for column, spoil := range map[string]func(*automation.ScheduleRow){
		"time_zone":            func(r *automation.ScheduleRow) { r.TimeZone = "Mars/Olympus" },
		"scheduled_local_date": func(r *automation.ScheduleRow) { r.LocalDate = "2026-02-30" },
		"dispatch_result":      func(r *automation.ScheduleRow) { r.DispatchResult = []byte(`{"path":7}`) },
	} {
		t.Run(column, func(t *testing.T) {
			eachWorld(t, func(w *world) {
				w.s.Register(certificates(nil))
				w.ensure(candidate(nil), candidate(func(c *automation.Candidate) { c.Source.ID = "8" }))
				w.change(certificateKey, spoil)
				w.pollAt(day(2026, 4, 1, 9))
				want := map[string]string{
					certificateKey: "Failed Undecodable held Undecodable",
					"reminder:certificate:employee:8:default:2026-05-01:30": "Completed",
				}
				if diff := cmp.Diff(want, w.statuses()); diff != "" {
					w.t.Error(diff)
				}
				if row := w.row(certificateKey); !strings.Contains(row.HoldDetail, column) {
					w.t.Error(row.HoldDetail)
				}
			})
		})
	}
}

func TestAMessageThatWaitedIsRevalidated(t *testing.T) {
	eachWorld(t, func(w *world) {
		valid, err := true, error(nil)
		w.s.Register(certificates(func(t *automation.ReminderType) {
			t.Validator = automation.ValidatorFunc(func(context.Context, automation.Due) (automation.Validity, error) { return validIf(valid), err })
			t.NotificationType = "the host's" // it asks in the same way
		}))
		w.ensure(candidate(nil), candidate(func(c *automation.Candidate) { c.Source.ID = "8" }))
		w.pollAt(day(2026, 4, 1, 9))
		ask := func() []gate.Verdict {
			got, askErr := w.s.Revalidator().Revalidate(w.ctx, append(w.out.jobs, notify.Job{SourceKey: "unknown"}, notify.Job{}))
			if !errors.Is(askErr, err) {
				w.t.Error(askErr)
			}
			return got
		}
		if diff := cmp.Diff(make([]gate.Verdict, 4), ask()); diff != "" {
			w.t.Error(diff)
		}
		valid = false
		skip := gate.Skip(string(reasons.SourceNoLongerValid))
		if diff := cmp.Diff([]gate.Verdict{skip, skip, {}, {}}, ask()); diff != "" {
			w.t.Error(diff)
		}
		err = errBoom
		if got := ask(); got != nil {
			w.t.Error(got)
		}
	})
}

// A message waits, and its reminder moves to a later time: it went out at the former one, and
// the validator is asked about the message all the same.
func TestAMessageWhoseReminderMovesIsRevalidated(t *testing.T) {
	eachWorld(t, func(w *world) {
		valid := true
		p := w.withTriggers(func(t *automation.ReminderType) {
			t.Validator = automation.ValidatorFunc(func(context.Context, automation.Due) (automation.Validity, error) { return validIf(valid), nil })
		})
		p.set(offsets(date(2026, 5, 1), 30)...)
		w.handle(changed(1))
		w.pollAt(day(2026, 4, 1, 9))
		p.candidates[0].SendAt = "18:00"
		for _, want := range []gate.Verdict{{}, gate.Skip(string(reasons.SourceNoLongerValid))} {
			got, err := w.s.Revalidator().Revalidate(w.ctx, w.out.jobs)
			if diff := cmp.Diff([]gate.Verdict{want}, got); diff != "" || err != nil {
				w.t.Error(diff, err)
			}
			valid = false
		}
		p.set() // and is asked for no more
		valid = true
		got, err := w.s.Revalidator().Revalidate(w.ctx, w.out.jobs)
		if diff := cmp.Diff([]gate.Verdict{gate.Skip(string(reasons.Superseded))}, got); diff != "" || err != nil {
			w.t.Error(diff, err)
		}
	})
}
