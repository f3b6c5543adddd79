package automation_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/storage"
)

// upcoming lists what is planned in a span page by page, as "03-02T09:00 7" with "expected"
// behind what has no row yet.
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

// A span that ends before it begins, and a place that no page returned, are refused.
func TestUpcomingRefusesWhatNoPageReturned(t *testing.T) {
	eachWorld(t, func(w *world) {
		now := day(2026, 3, 1, 0)
		if _, _, err := w.s.Support().Upcoming(w.ctx, "", now, now, storage.Page{}); err == nil || !strings.Contains(err.Error(), "until is not after from") {
			t.Error(err)
		}
		for _, after := range []string{"expected x", "x", "expected"} {
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
