package support_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/support"
)

// The calendar has what goes out on each day, of all domains, of one tenant, and days on
// which nothing does.
func TestTheCalendarSaysWhatGoesOutOnEachDay(t *testing.T) {
	schools(t, func(s *school) {
		s.clk.Set(due.Add(-50 * time.Hour)) // a Wednesday, 07:00
		for _, who := range []string{"ada", "ben"} {
			s.remind(who, nil)
		}
		s.remind("cem", func(c *automation.Candidate) { c.Scope = "south" })
		s.must(s.reminders.Support().Cancel(s.Context(), tenant, s.remind("eve", nil), by))
		s.ask("fay") // it is sent at once, and reminded of two days later
		s.drain()
		days, more, err := s.desk.Calendar(s.Context(), tenant, time.UTC, 14)
		if err != nil || more || len(days) != 14 {
			s.Fatalf("%d days, %t, %v", len(days), more, err)
		}
		got := map[string][]string{}
		for i, d := range days {
			if want := driver.Now(s.store).UTC().Truncate(24*time.Hour).AddDate(0, 0, i); !d.On.Equal(want) {
				s.Errorf("day %d is %v", i, d.On)
			}
			for _, c := range d.Rows {
				key := d.On.Format("Mon 2 Jan")
				got[key] = append(got[key], fmt.Sprintf("%s %d %s", c.First.UTC().Format("15:04"), c.Rows, c.What()))
			}
		}
		want := map[string][]string{"Fri 17 Apr": {"07:00 1 survey link", "09:00 2 reminders of certificate"}}
		if diff := cmp.Diff(want, got); diff != "" {
			s.Error(diff)
		}
		for _, n := range []int{0, 32} {
			if _, _, err := s.desk.Calendar(s.Context(), tenant, time.UTC, n); !errors.Is(err, support.ErrAbout) {
				s.Errorf("%d days: %v", n, err)
			}
		}
		elsewhere, _, err := s.desk.Calendar(s.Context(), "west", time.UTC, 14)
		if err != nil || slices.ContainsFunc(elsewhere, func(d support.Day) bool { return len(d.Rows) > 0 }) {
			s.Errorf("the west: %v %v", elsewhere, err)
		}
	})
}

// A day on which clocks jump over midnight begins when they jump: in Santiago, the 6th of
// September 2026 begins at 01:00.
func TestADayWithoutAMidnightIsADayOfTheCalendar(t *testing.T) {
	schools(t, func(s *school) {
		santiago, err := time.LoadLocation("America/Santiago")
		s.must(err)
		s.clk.Set(time.Date(2026, 9, 5, 15, 0, 0, 0, time.UTC))
		days, _, err := s.desk.Calendar(s.Context(), tenant, santiago, 3)
		s.must(err)
		for i, want := range []string{"2026-09-05 00:00", "2026-09-06 01:00", "2026-09-07 00:00"} {
			if got := days[i].On.Format("2006-01-02 15:04"); got != want {
				s.Errorf("%s is not %s", got, want)
			}
		}
	})
}

// A day's rows have the names of the people, and say what is only expected.
func TestUpcomingNamesPeopleAndSaysWhatIsExpected(t *testing.T) {
	schools(t, func(s *school) {
		_, err := s.reminders.Ensure(s.Context(), automation.Candidate{
			Scope: tenant, Type: "certificate", Source: automation.Source{Type: "employee", ID: "9"}, Person: "sam", Zone: "UTC",
			Recurrence: &automation.Recurrence{Cron: "30 6 * * *"},
		})
		s.must(err)
		from := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
		got, next, err := s.desk.Upcoming(s.Context(), tenant, from, from.AddDate(0, 0, 1), true, storage.Page{})
		s.must(err)
		if len(got) != 1 || next != "" || got[0].Person != "sam" || got[0].Name != "Samantha Jones" || got[0].Key != "" || got[0].Outcome != support.Planned || !strings.HasSuffix(got[0].What, "planned once the previous one has gone out") {
			s.Errorf("%+v %q", got, next)
		}
		if got, _, err := s.desk.Upcoming(s.Context(), "west", from, from.AddDate(0, 0, 1), true, storage.Page{}); err != nil || len(got) > 0 {
			s.Errorf("the west: %v %v", got, err)
		}
	})
}

// What the old scheduler still sends is listed as planned, and says who sends it.
func TestUpcomingSaysWhatTheOldSchedulerSends(t *testing.T) {
	schools(t, func(s *school) {
		s.reminders.Register(automation.ReminderType{Name: "handover", Zone: "UTC", Guarded: true, Recipients: automation.RecipientFunc(
			func(context.Context, automation.Due) ([]notify.Recipient, error) { return nil, nil },
		)})
		_, err := s.reminders.Ensure(s.Context(), automation.Candidate{
			Scope: tenant, Type: "handover", Source: automation.Source{Type: "employee", ID: "9"}, Person: "sam", Zone: "UTC",
			Recurrence: &automation.Recurrence{Cron: "30 6 * * *"},
		})
		s.must(err)
		from := s.desk.Now()
		got, _, err := s.desk.Upcoming(s.Context(), tenant, from, from.AddDate(0, 0, 2), true, storage.Page{})
		s.must(err)
		if len(got) != 2 || got[0].Key == "" || got[1].Key != "" {
			s.Fatalf("%+v", got)
		}
		for _, e := range got {
			if e.Outcome != support.Planned || e.Reason != reasons.Shadow || len(e.Can) > 0 || !strings.Contains(e.What, ": the previous scheduler sends it on ") {
				s.Errorf("%+v", e)
			}
		}
	})
}

// Who got no reminder on a day is listed with the reason, apart from those who got one.
func TestWithheldListsWhoGotNoneOnADay(t *testing.T) {
	schools(t, func(s *school) {
		s.remind("kim", nil)
		for _, person := range []string{"sam", "ann"} {
			s.remind(person, nil)
			s.reminded[person] = nil
		}
		s.remind("eve", func(c *automation.Candidate) { c.TargetDate.Day++ })
		s.at(due)
		from := time.Date(2026, 4, 17, 0, 0, 0, 0, time.UTC)
		on := func(scope storage.Scope, day int) (out []string) {
			for p := (storage.Page{Limit: 1}); ; {
				got, after, err := s.desk.Withheld(s.Context(), scope, from.AddDate(0, 0, day), from.AddDate(0, 0, day+1), true, p)
				s.must(err)
				for _, e := range got {
					out = append(out, e.Name+": "+e.Reason)
					if e.Outcome != support.Withheld || !e.On.Equal(due.AddDate(0, 0, day)) {
						s.Errorf("%+v", e)
					}
				}
				if p.After = after; after == "" {
					return out
				}
			}
		}
		for name, c := range map[string]struct {
			scope storage.Scope
			day   int
			want  []string
		}{
			"today": {tenant, 0, []string{": Superseded", "Samantha Jones: Superseded"}}, "tomorrow": {tenant, 1, nil}, "another tenant": {"west", 0, nil},
		} {
			if diff := cmp.Diff(c.want, on(c.scope, c.day)); diff != "" {
				s.Errorf("%s: %s", name, diff)
			}
		}
	})
}
