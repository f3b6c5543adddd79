package automation_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/causes"
	"github.com/belfry-go/belfry/automation/dst"
	"github.com/belfry-go/belfry/automation/threshold"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
)

// lesson is in the afternoon of the day on which the clocks start.
var lesson = day(2026, 3, 1, 16)

// hoursTo are candidates so long before an instant, without what an event fills in.
func hoursTo(at time.Time, before ...time.Duration) (out []automation.Candidate) {
	for _, b := range before {
		out = append(out, automation.Candidate{At: at, Before: b})
	}
	return out
}

// ofSeven completes a candidate for a call without an event.
func ofSeven(c automation.Candidate) automation.Candidate {
	c.Type, c.Source = "certificate", automation.Source{"employee", "7"}
	return c
}

// instantKey is the key of a reminder before an instant.
func instantKey(at time.Time, before string) string {
	return "reminder:certificate:employee:7:default:instant:" + at.UTC().Format("2006-01-02T15:04:05Z") + ":" + before
}

// What a reminder two hours before is: a row at that moment, and what the host's code
// and texts see of it, on the clocks of the lesson.
func TestAReminderHoursBeforeAnInstant(t *testing.T) {
	eachWorld(t, func(w *world) {
		var due automation.Due
		w.s.Register(certificates(func(t *automation.ReminderType) {
			t.Zone = "America/New_York"
			t.Recipients = automation.RecipientFunc(func(ctx context.Context, d automation.Due) ([]notify.Recipient, error) {
				due = d
				return toSam(ctx, d)
			})
		}))
		at := time.Date(2026, 3, 3, 2, 30, 0, 0, time.UTC)
		c := ofSeven(automation.Candidate{At: at.In(time.FixedZone("", 3600)), Before: 26 * time.Hour})
		got, key := w.ensure(c)[0], instantKey(at, "26h")
		want := automation.Ensured{Outcome: storage.Created, Key: key, Status: automation.StatusPending, ScheduledOn: at.Add(-26 * time.Hour)}
		if diff := cmp.Diff(want, got); diff != "" {
			w.t.Error(diff)
		}
		if again := w.ensure(c)[0]; again.Outcome != storage.Unchanged {
			w.t.Errorf("%+v", again)
		}
		row := w.row(key)
		if row.TriggerType != automation.InstantBased || row.LocalDate != "2026-03-01" || row.SendAt != "19:30" || row.TimeZone != "America/New_York" {
			w.t.Errorf("%+v", row)
		}
		if view := automation.ViewRow(&row); !view.At.Equal(at) || view.Before != 26*time.Hour {
			w.t.Errorf("%+v", view)
		}
		if r := w.pollAt(at.Add(-26*time.Hour - time.Second)); r.Claimed != 0 {
			w.t.Errorf("%+v", r)
		}
		w.pollAt(at.Add(-26 * time.Hour))
		if !due.At.Equal(at) || due.Before != 26*time.Hour || due.TargetDate != date(2026, 3, 2) || due.DaysBefore != 1 || due.LocalDate != date(2026, 3, 1) {
			w.t.Errorf("%+v", due)
		}
		data := `{"Source":{"Type":"employee","ID":"7"},"TargetDate":"2026-03-02","DaysBefore":1,"Key":"` + key +
			`","At":{"LocalDate":"2026-03-02","LocalTime":"21:30","Zone":"America/New_York"}}`
		if diff := cmp.Diff(data, string(w.out.jobs[0].EventData)); diff != "" {
			w.t.Error(diff)
		}
	})
}

// A lesson that moves takes its reminder along, and one that moves after its reminder
// went out is reminded of again, within one day too.
func TestAnInstantThatMovesTakesItsReminderAlong(t *testing.T) {
	eachWorld(t, func(w *world) {
		p := w.withTriggers(nil)
		p.set(hoursTo(lesson, 2*time.Hour)...)
		w.handle(changed(1))
		later := lesson.Add(30 * time.Minute)
		p.set(hoursTo(later, 2*time.Hour)...)
		got := w.handle(changed(2))
		if len(got.Deactivated) != 1 || got.Deactivated[0] != (automation.Deactivation{Key: instantKey(lesson, "2h"), Reason: reasons.Superseded}) {
			w.t.Errorf("%+v", got)
		}
		w.pollAt(later.Add(-2 * time.Hour))
		evening := lesson.Add(4 * time.Hour)
		p.set(hoursTo(evening, 2*time.Hour)...)
		w.handle(changed(3))
		w.pollAt(evening.Add(-2 * time.Hour))
		want := map[string]string{
			instantKey(lesson, "2h"): "Deactivated Superseded", instantKey(later, "2h"): "Completed", instantKey(evening, "2h"): "Completed",
		}
		if diff := cmp.Diff(want, w.statuses()); diff != "" {
			w.t.Error(diff)
		}
		if got := w.out.dispatched(); !slices.Equal(got, []string{instantKey(later, "2h"), instantKey(evening, "2h")}) {
			w.t.Error(got)
		}
	})
}

// "24 hours before" is not said at once about a lesson that is booked for this
// afternoon, "2 hours before" comes; an event that took some minutes is not too late.
func TestNothingIsSaidAtOnceAboutWhatIsBookedForToday(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		catchUp time.Duration
		now     time.Time
		want    []storage.Outcome
	}{
		"in the morning":                 {0, start, []storage.Outcome{causes.OffsetPassed, storage.Created}},
		"just before its moment":         {0, lesson.Add(-125 * time.Minute), []storage.Outcome{causes.OffsetPassed, storage.Created}},
		"just after its moment":          {0, lesson.Add(-105 * time.Minute), []storage.Outcome{causes.OffsetPassed, storage.Created}},
		"an hour before":                 {0, lesson.Add(-time.Hour), []storage.Outcome{causes.OffsetPassed, causes.OffsetPassed}},
		"the day before":                 {0, lesson.Add(-25 * time.Hour), []storage.Outcome{storage.Created, storage.Created}},
		"an hour before, and it may":     {90 * time.Minute, lesson.Add(-time.Hour), []storage.Outcome{causes.OffsetPassed, storage.Created}},
		"in the morning, and all may":    {24 * time.Hour, start, []storage.Outcome{storage.Created, storage.Created}},
		"just before, and nothing may":   {1, lesson.Add(-125 * time.Minute), []storage.Outcome{causes.OffsetPassed, storage.Created}},
		"a minute after, nothing may":    {1, lesson.Add(-119 * time.Minute), []storage.Outcome{causes.OffsetPassed, causes.OffsetPassed}},
		"at the moment, and nothing may": {1, lesson.Add(-120 * time.Minute), []storage.Outcome{causes.OffsetPassed, storage.Created}},
	} {
		t.Run(name, func(t *testing.T) {
			eachWorld(t, func(w *world) {
				w.clk.Set(c.now)
				p := w.withTriggers(func(t *automation.ReminderType) { t.Lateness.CatchUp = c.catchUp })
				p.set(hoursTo(lesson, 24*time.Hour, 2*time.Hour)...)
				got := w.handle(changed(1))
				if diff := cmp.Diff(c.want, outcomes(got)); diff != "" {
					w.t.Error(diff)
				}
			})
		})
	}
}

// Days and hours in one type: two weeks and a day before a date, an hour before an
// instant. After an outage only the last one goes out, if the type says so.
func TestDaysAndHoursInOneType(t *testing.T) {
	t.Parallel()
	for _, onlyLatest := range []bool{false, true} {
		t.Run(map[bool]string{false: "each", true: "only the latest"}[onlyLatest], func(t *testing.T) {
			eachWorld(t, func(w *world) {
				p := w.withTriggers(func(t *automation.ReminderType) { t.Lateness.OnlyLatest = onlyLatest })
				exam := day(2026, 3, 20, 15)
				all := append(offsets(date(2026, 3, 20), 14, 1), hoursTo(exam, 3*time.Hour, time.Hour, -time.Hour)...)
				other := automation.Candidate{At: exam, Before: 2 * time.Hour, TriggerKey: "other"}
				p.set(append(all, other)...)
				w.handle(changed(1))
				w.clk.Set(exam)
				w.runAll()
				of := func(yes bool) string {
					return map[bool]string{false: "Completed", true: "Deactivated Overtaken"}[yes]
				}
				want := map[string]string{
					key("2026-03-20", "14"): of(onlyLatest), key("2026-03-20", "1"): of(onlyLatest),
					instantKey(exam, "3h"): of(onlyLatest), instantKey(exam, "1h"): "Completed", instantKey(exam, "-1h"): "Pending",
					strings.Replace(instantKey(exam, "2h"), "default", "other", 1): "Completed",
				}
				if diff := cmp.Diff(want, w.statuses()); diff != "" {
					w.t.Error(diff)
				}
			})
		})
	}
}

// What makes no sense beside an instant is refused, and says which field it is.
func TestWhatIsRefusedBesideAnInstant(t *testing.T) {
	t.Parallel()
	for field, change := range map[string]func(*automation.Candidate){
		"TargetDate":  func(c *automation.Candidate) { c.TargetDate = date(2026, 5, 1) },
		"DaysBefore":  func(c *automation.Candidate) { c.DaysBefore = 1 },
		"SendAt":      func(c *automation.Candidate) { c.SendAt = "09:00" },
		"ScheduledOn": func(c *automation.Candidate) { c.ScheduledOn = start },
		"At":          func(c *automation.Candidate) { c.Recurrence = &automation.Recurrence{Cron: "0 9 * * *"} },
		"At ": func(c *automation.Candidate) {
			c.Threshold = &threshold.Threshold{Metric: "m", Value: "1", Reading: "2"}
		},
		"At  ":   func(c *automation.Candidate) { c.Type, c.AutomationType = "", "backup" },
		"Before": func(c *automation.Candidate) { c.At = time.Date(1, 1, 1, 1, 0, 0, 0, time.UTC) },
		"Zone":   func(c *automation.Candidate) { c.Zone = "Nowhere/Land" },
		"":       func(c *automation.Candidate) { c.Before += time.Millisecond },
		"At   ":  func(c *automation.Candidate) { c.At = time.Time{} },
	} {
		t.Run(field, func(t *testing.T) {
			eachWorld(t, func(w *world) {
				c := ofSeven(automation.Candidate{At: lesson, Before: 2 * time.Hour})
				change(&c)
				_, err := w.s.Ensure(w.ctx, c)
				var refused *automation.CandidateError
				if !errors.As(err, &refused) || refused.Field != strings.TrimSpace(field) {
					w.t.Error(err)
				}
			})
		})
	}
}

// An instant of the clock, whose fraction no key has, is that of its second.
func TestAnInstantHasNoFraction(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(nil))
		for i, want := range []storage.Outcome{storage.Created, storage.Unchanged} {
			got := w.ensure(ofSeven(automation.Candidate{At: lesson.Add(time.Duration(i+1) * 300 * time.Millisecond), Before: 2 * time.Hour}))[0]
			if got.Outcome != want || got.Key != instantKey(lesson, "2h") || !got.ScheduledOn.Equal(lesson.Add(-2*time.Hour)) {
				w.t.Errorf("%+v", got)
			}
		}
	})
}

// Support and its questions know an instant as they know a date.
func TestSupportKnowsInstants(t *testing.T) {
	eachWorld(t, func(w *world) {
		p := w.withTriggers(func(t *automation.ReminderType) { t.Zone = "Europe/Paris" })
		p.set(hoursTo(lesson, 24*time.Hour, 2*time.Hour)...)
		missing, err := w.s.ExplainMissing(w.ctx, "", "certificate", changed(1).Source)
		w.must(err)
		found := map[string]causes.Cause{}
		for _, f := range missing.Findings {
			found[f.Key] = f.Cause
		}
		want := map[string]causes.Cause{instantKey(lesson, "24h"): causes.OffsetPassed, instantKey(lesson, "2h"): causes.NotAskedYet}
		if diff := cmp.Diff(want, found); diff != "" {
			w.t.Error(diff)
		}
		next, err := w.s.Preview(w.ctx, ofSeven(hoursTo(lesson, 2*time.Hour)[0]), 3)
		w.must(err)
		if diff := cmp.Diff([]automation.Occurrence{{
			Key: instantKey(lesson, "2h"), LocalDate: date(2026, 3, 1), LocalTime: "15:00", Zone: "Europe/Paris",
			On: lesson.Add(-2 * time.Hour), Resolution: dst.ResolvedExact,
		}}, next); diff != "" {
			w.t.Error(diff)
		}
		w.handle(changed(1))
		w.pollAt(lesson.Add(-2 * time.Hour))
		story, err := w.s.Explain(w.ctx, "", instantKey(lesson, "2h"))
		w.must(err)
		if text := story.String(); !strings.Contains(text, "certificate for employee 7, 2h before 2026-03-01T16:00:00Z, at 15:00 Europe/Paris: 2026-03-01T14:00:00Z\n") {
			w.t.Error(text)
		}
		w.clk.Add(10 * time.Minute)
		again := w.rerun(instantKey(lesson, "2h"))
		if row := w.row(again.Key); row.LocalDate != "2026-03-01" || row.SendAt != "15:10" {
			w.t.Errorf("%+v", row)
		}
		w.poll()
		if got := len(w.out.dispatched()); got != 2 {
			w.t.Error(got)
		}
	})
}

// The words for a reminder after an instant, and at it.
func TestExplainSaysAfterAnInstant(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(nil))
		for text, c := range map[string]automation.Candidate{
			"15m after 2026-03-01T16:00:00Z, at 16:15 UTC": hoursTo(lesson, -15*time.Minute)[0],
			"at 2026-03-01T16:00:00Z, at 16:00 UTC":        hoursTo(lesson, 0)[0],
		} {
			story, err := w.s.Explain(w.ctx, "", w.ensure(ofSeven(c))[0].Key)
			w.must(err)
			if !strings.Contains(story.String(), ", "+text) {
				w.t.Error(story)
			}
		}
	})
}

// Another zone of the business unit moves nothing but what the clocks show.
func TestAnInstantInAnotherZoneKeepsItsMoment(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		zone := "Europe/Dublin"
		w := newWorld(t, store, clk, &automation.Options{Zone: func(context.Context, automation.Scope, string) (string, error) { return zone, nil }})
		w.s.Register(certificates(nil))
		c := ofSeven(hoursTo(lesson, 2*time.Hour)[0])
		first := w.ensure(c)[0]
		zone = "Asia/Tokyo"
		got := w.ensure(c)[0]
		row := w.row(first.Key)
		if got.Outcome != storage.Updated || !got.ScheduledOn.Equal(first.ScheduledOn) || row.SendAt != "23:00" || row.TimeZone != zone {
			t.Errorf("%+v %+v", got, row)
		}
	})
}

// Rows before instants stay for as long as somebody could ask for them again.
func TestRetentionOfInstants(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(func(t *automation.ReminderType) { t.Retention.After = 24 * time.Hour }))
		at := day(2026, 3, 10, 8)
		key := w.ensure(ofSeven(hoursTo(at, 2*time.Hour)[0]))[0].Key
		_, err := w.s.Deactivate(w.ctx, "", "certificate", automation.Source{"employee", "7"}, "Left")
		w.must(err)
		for _, c := range []struct {
			on   time.Time
			rows int
		}{{at.Add(21 * time.Hour), 1}, {at.Add(23 * time.Hour), 0}} {
			w.clk.Set(c.on)
			_, err := w.s.Maintenance().Retain(w.ctx)
			w.must(err)
			if got := w.rows(); len(got) != c.rows {
				w.t.Errorf("%s: %d rows of %s", c.on, len(got), key)
			}
		}
	})
}
