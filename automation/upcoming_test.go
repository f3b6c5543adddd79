package automation_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/cutover"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
)

// upcoming lists what is planned in a span page by page, as "03-02T09:00 7" with "expected"
// behind what has no row yet, and "old" behind what the old scheduler owns.
func (w *world) upcoming(scope automation.Scope, from, until time.Time, limit int) (out []string) {
	w.t.Helper()
	p := storage.Page{Limit: limit}
	for {
		page, next, err := w.s.Support().Upcoming(w.ctx, scope, from, until, p)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, u := range page {
			line := u.ScheduledOn.Format("01-02T15:04 ") + u.Source
			if u.Expected {
				line += " expected"
			}
			if u.OldScheduler {
				line += " old"
			}
			out = append(out, line)
		}
		if next == "" {
			return out
		}
		p.After = next
	}
}

// What is planned of a tenant is listed by its time, with the later occurrences of series.
func TestUpcomingListsRowsAndLaterOccurrences(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(nil))
		of := func(scope automation.Scope, id string) func(*automation.Candidate) {
			return func(c *automation.Candidate) { c.Scope, c.Source.ID = scope, id }
		}
		for _, id := range []string{"7", "8"} {
			w.ensure(daily(of("", id)))
		}
		w.ensure(daily(of("other", "9")))
		w.ensure(automation.Candidate{Type: "certificate", Source: automation.Source{"employee", "1"}, TargetDate: automation.Date{Year: 2026, Month: 3, Day: 9}, DaysBefore: 7, Zone: "UTC", SendAt: "10:00"})
		w.ensure(automation.Candidate{Type: "certificate", Source: automation.Source{"employee", "2"}, TargetDate: automation.Date{Year: 2026, Month: 4, Day: 9}, DaysBefore: 7, Zone: "UTC", SendAt: "10:00"})
		from, until := day(2026, 3, 1, 0), day(2026, 3, 4, 0)
		want := []string{
			"03-01T09:00 7", "03-01T09:00 8", "03-02T10:00 1",
			"03-02T09:00 7 expected", "03-03T09:00 7 expected", "03-02T09:00 8 expected", "03-03T09:00 8 expected",
		}
		for _, limit := range []int{1, 2, 100} {
			if diff := cmp.Diff(want, w.upcoming("", from, until, limit)); diff != "" {
				t.Errorf("pages of %d: %s", limit, diff)
			}
		}
		// A span behind the current occurrence has expected ones alone.
		if diff := cmp.Diff([]string{"03-03T09:00 9 expected"}, w.upcoming("other", day(2026, 3, 3, 0), until, 10)); diff != "" {
			t.Error(diff)
		}
		// What is expected gets a row under the key that it was listed with.
		page, _, err := w.s.Support().Upcoming(w.ctx, "other", day(2026, 3, 2, 0), day(2026, 3, 3, 0), storage.Page{})
		if err != nil || len(page) != 1 || !page[0].Expected {
			t.Fatal(page, err)
		}
		w.pollAt(day(2026, 3, 1, 9))
		w.rowIn("other", page[0].Key)
	})
}

// Until a part moves, its rows and later occurrences are listed as the old scheduler's, also
// in a process that has not registered the type. A run that the old scheduler has delivered is
// not planned any more.
func TestUpcomingNamesWhatTheOldSchedulerOwns(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.guardCertificates(nil)
		of := func(id string, days int) automation.Candidate {
			return automation.Candidate{
				Type: "certificate", Source: automation.Source{"employee", id}, TargetDate: automation.Date{Year: 2026, Month: 3, Day: 9},
				DaysBefore: days, Zone: "UTC", SendAt: "10:00",
			}
		}
		for _, c := range []automation.Candidate{daily(nil), of("1", 7), of("2", 6), of("3", 7)} {
			w.ensure(c)
		}
		if !w.old("reminder:certificate:employee:3:default:2026-03-09:7", "") {
			t.Fatal("the old scheduler is refused")
		}
		guarding := w.s
		is := func(want ...string) {
			t.Helper()
			for _, limit := range []int{1, 2, 100} {
				if diff := cmp.Diff(want, w.upcoming("", day(2026, 3, 1, 0), day(2026, 3, 4, 0), limit)); diff != "" {
					t.Errorf("pages of %d: %s", limit, diff)
				}
			}
		}
		for _, s := range []*automation.Scheduler{guarding, automation.New(w.store, w.out, &w.opts)} {
			w.s = s
			is("03-01T09:00 7 old", "03-02T10:00 1 old", "03-03T10:00 2 old", "03-02T09:00 7 expected old", "03-03T09:00 7 expected old")
		}
		w.s = automation.New(w.store, &recorder{Notifier: notify.New(w.store, nil)}, &w.opts)
		w.s.Register(certificates(nil)) // the host has given the roll-out up
		is("03-02T09:00 7 expected", "03-03T09:00 7 expected")
		w.s = guarding
		w.to(cutover.Part{Type: "certificate", Source: "2"}, cutover.StageScheduled)
		is("03-03T10:00 2", "03-01T09:00 7 old", "03-02T10:00 1 old", "03-02T09:00 7 expected old", "03-03T09:00 7 expected old")
		w.to(certificatesPart, cutover.StageScheduled)
		is("03-01T09:00 7", "03-02T10:00 1", "03-03T10:00 2", "03-02T09:00 7 expected", "03-03T09:00 7 expected")
	})
}

// A span that ends before it begins, and a place that no page returned, are refused.
func TestUpcomingRefusesWhatNoPageReturned(t *testing.T) {
	eachWorld(t, func(w *world) {
		now := day(2026, 3, 1, 0)
		if _, _, err := w.s.Support().Upcoming(w.ctx, "", now, now, storage.Page{}); err == nil || !strings.Contains(err.Error(), "until is not after from") {
			t.Error(err)
		}
		for _, after := range []string{"expected x", "x", "expected", "old x", "old ", "old"} {
			if _, _, err := w.s.Support().Upcoming(w.ctx, "", now, now.Add(1), storage.Page{After: after}); err == nil {
				t.Errorf("%q is taken", after)
			}
		}
	})
}

// A series that runs each minute does not fill the list.
func TestUpcomingHasTheFirstOccurrencesOfADenseSeries(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(nil))
		w.ensure(cron("* * * * *"))
		got := w.upcoming("", day(2026, 3, 1, 0), day(2026, 3, 15, 0), 10)
		if len(got) != 32 || slices.Contains(got[1:], got[0]) {
			t.Error(len(got), got)
		}
	})
}
