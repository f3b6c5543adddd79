package automation_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/causes"
)

// A reminder never goes out after what it is about: its job says until when.
func TestAReminderIsValidUntilWhatItIsAbout(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(func(t *automation.ReminderType) {
			t.Zone, t.Lateness.CatchUp = "Europe/Dublin", 72*time.Hour
			t.BusinessDay = func(_ context.Context, _ automation.Scope, unit string, d automation.Date) (automation.Date, error) {
				if unit == "closed" {
					return d.AddDays(3), nil
				}
				return d, nil
			}
		}))
		target := automation.Date{Year: 2026, Month: 4, Day: 2} // Dublin is an hour ahead
		lesson := day(2026, 4, 1, 12)
		want := map[string]time.Time{}
		add := func(id string, until time.Time, change func(*automation.Candidate)) {
			c := automation.Candidate{Type: "certificate", Source: automation.Source{Type: "employee", ID: id}}
			change(&c)
			want[id] = until
			w.ensure(c)
		}
		endOfDay := day(2026, 4, 2, 23)
		add("before", endOfDay, func(c *automation.Candidate) { c.TargetDate, c.DaysBefore = target, 1 })
		add("on the day", endOfDay, func(c *automation.Candidate) { c.TargetDate = target })
		add("after", time.Time{}, func(c *automation.Candidate) { c.TargetDate, c.DaysBefore = target, -1 })
		add("moved behind it", time.Time{}, func(c *automation.Candidate) { c.TargetDate, c.DaysBefore, c.BusinessUnit = target, 0, "closed" })
		add("before an instant", lesson, func(c *automation.Candidate) { c.At, c.Before = lesson, 2*time.Hour })
		add("at an instant", time.Time{}, func(c *automation.Candidate) { c.At = lesson })
		add("weekly", time.Time{}, func(c *automation.Candidate) { c.Recurrence = &automation.Recurrence{Cron: "0 9 * * WED"} })
		w.pollAt(day(2026, 4, 5, 12))
		got := map[string]time.Time{}
		for _, j := range w.out.jobs {
			got[j.Entity] = j.ValidUntil
		}
		if diff := cmp.Diff(want, got); diff != "" {
			w.t.Error(diff)
		}
	})
}

// "In 1 days" is not said on the day itself, however long CatchUp is.
func TestCatchUpEndsWithTheStartOfTheTargetDay(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(func(t *automation.ReminderType) { t.Zone, t.Lateness.CatchUp = "America/New_York", 72*time.Hour }))
		ask := func(id string, daysBefore int) automation.Ensured {
			return w.ensure(automation.Candidate{
				Type: "certificate", Source: automation.Source{Type: "employee", ID: id},
				TargetDate: automation.Date{Year: 2026, Month: 4, Day: 2}, DaysBefore: daysBefore,
			})[0]
		}
		w.clk.Set(day(2026, 4, 2, 4).Add(-time.Second)) // midnight there is at four
		if got := ask("the day before", 1); got.Outcome != "Created" {
			w.t.Errorf("%+v", got)
		}
		w.clk.Set(day(2026, 4, 2, 4))
		if got := ask("the day itself", 1); got.Outcome != causes.OffsetPassed {
			w.t.Errorf("%+v", got)
		}
		w.clk.Set(day(2026, 4, 3, 13))
		if got := ask("the day itself, for the day itself", 0); got.Outcome != "Created" {
			w.t.Errorf("%+v", got)
		}
	})
}

// What a person wants done once more is valid as long as any message.
func TestARerunIsNotEndedByWhatItIsAbout(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(nil))
		w.ensure(candidate(nil))
		w.pollAt(day(2026, 4, 1, 9))
		w.clk.Set(day(2026, 6, 1, 9))
		if _, err := w.s.Support().Rerun(w.ctx, "", certificateKey, automation.By{Actor: "sam", Reason: "lost"}); err != nil {
			w.t.Fatal(err)
		}
		w.poll()
		if jobs := w.out.jobs; len(jobs) != 2 || !jobs[1].ValidUntil.IsZero() {
			w.t.Errorf("%+v", jobs)
		}
	})
}
