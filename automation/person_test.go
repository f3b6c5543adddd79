package automation_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
)

func about(person string) func(*automation.Candidate) {
	return func(c *automation.Candidate) { c.Person = person }
}

// planned are the keys of what is planned for a person, page by page.
func (w *world) planned(scope automation.Scope, person string, limit int) (out []string) {
	w.t.Helper()
	for p := (storage.Page{Limit: limit}); ; {
		rows, next, err := w.s.Support().Planned(w.ctx, scope, person, p)
		w.must(err)
		for _, r := range rows {
			if r.Person != person {
				w.t.Errorf("%+v", r)
			}
			out = append(out, r.Key)
		}
		if p.After = next; next == "" {
			return out
		}
	}
}

// Whom a wish is about is not a part of what it stands for: it moves with the open row,
// and what went out keeps it.
func TestWhomAWishIsAboutMovesWithTheRow(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(nil))
		first := w.ensure(candidate(nil))[0]
		hash := w.row(certificateKey).InputHash
		for _, person := range []string{"sam", "kim"} {
			got := w.ensure(candidate(about(person)))[0]
			if row := w.row(certificateKey); got.Outcome != storage.Updated || got.Key != first.Key || row.Person != person || row.InputHash != hash {
				w.t.Errorf("%+v %+v", got, row)
			}
			if got := w.ensure(candidate(about(person)))[0]; got.Outcome != storage.Unchanged {
				w.t.Errorf("%+v", got)
			}
		}
		if got := w.planned("", "sam", 10); len(got) > 0 {
			w.t.Error(got)
		}
		w.pollAt(day(2026, 4, 1, 9))
		if got := w.ensure(candidate(about("sam")))[0]; got.Outcome != storage.Unchanged || got.InputDiffers || w.row(certificateKey).Person != "kim" {
			w.t.Errorf("%+v", got)
		}
		if got := w.planned("", "kim", 10); len(got) > 0 {
			w.t.Error("it went out:", got)
		}
	})
}

// What is planned for a person: dates, instants, series and what is on hold, the next
// moment first, of their scope, and nobody else's.
func TestWhatIsPlannedForAPerson(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(nil))
		var want []string
		for d := range 5 {
			c := candidate(about("sam"))
			c.DaysBefore, c.Source.ID = 30-5*d, fmt.Sprint("s", d)
			want = append(want, w.ensure(c)[0].Key)
		}
		instant := ofSeven(automation.Candidate{At: lesson, Person: "sam"})
		first := []string{w.ensure(daily(about("sam")))[0].Key, w.ensure(instant)[0].Key}
		want = append(first, want...)
		other := candidate(about("sam"))
		other.Scope = "tenant"
		w.ensure(other, candidate(about("samantha")), candidate(func(c *automation.Candidate) { c.TriggerKey = "nobody" }))
		w.must(w.s.Support().Hold(w.ctx, "", want[4], ann))
		for _, limit := range []int{2, 100} {
			if diff := cmp.Diff(want, w.planned("", "sam", limit)); diff != "" {
				w.t.Error(diff)
			}
		}
		if got := w.planned("tenant", "sam", 2); !slices.Equal(got, []string{certificateKey}) {
			w.t.Error(got)
		}
		w.pollAt(day(2026, 3, 1, 9))
		if got := w.planned("", "sam", 2); got[1] != on(day(2026, 3, 2, 9)) {
			w.t.Error("the next occurrence is about nobody:", got)
		}
		if _, _, err := w.s.Support().Planned(w.ctx, "", "", storage.Page{}); err == nil {
			w.t.Error("nobody")
		}
	})
}

// Support stops all that is planned for a person, and says so in a dry run first.
func TestWhatIsPlannedForAPersonIsStopped(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(nil))
		kims := candidate(about("kim"))
		kims.Source.ID = "8"
		w.ensure(candidate(about("sam")), kims)
		for _, dry := range []bool{true, false} {
			got, err := w.s.Support().Bulk(w.ctx, "", automation.ActionCancel, automation.Selection{Person: "sam"}, ann, &automation.ActionOptions{DryRun: dry})
			w.must(err)
			if got.Changed != 1 || got.Rows[0].Key != certificateKey {
				w.t.Errorf("%+v", got)
			}
		}
		want := map[string]string{
			certificateKey: "Cancelled CancelledBySupport held CancelledBySupport",
			strings.Replace(certificateKey, ":7:", ":8:", 1): "Pending",
		}
		if diff := cmp.Diff(want, w.statuses()); diff != "" {
			w.t.Error(diff)
		}
	})
}

// What could stand in no key is not a person.
func TestNoPerson(t *testing.T) {
	eachWorld(t, func(w *world) {
		for _, person := range []string{strings.Repeat("x", 201), "a\x1fb", "\xff"} {
			_, err := w.s.Ensure(w.ctx, candidate(about(person)))
			var refused *automation.CandidateError
			if !errors.As(err, &refused) || refused.Field != "Person" {
				w.t.Errorf("%q: %v", person, err)
			}
		}
	})
}

// All rows of a person and of a source, ended ones too, from a moment on and back from it,
// page by page; and those on hold for a reason.
func TestAllRowsOfAPersonOrASourceAreListedByTheirMoment(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(nil))
		var keys []string // by their moments
		for d := range 5 {
			c := candidate(about("sam"))
			c.DaysBefore = 30 - 5*d
			if d%2 == 1 { // a setting whose keys stand before those of the other, whose name it goes on from
				c.Setting = "certificate!"
			}
			keys = append(keys, w.ensure(c)[0].Key)
		}
		other := candidate(about("sam"))
		other.Scope, other.DaysBefore = "tenant", 3
		namesake := candidate(nil)
		namesake.Source.Type, namesake.DaysBefore = "car", 2
		w.ensure(other, namesake)
		w.must(w.s.Support().Cancel(w.ctx, "", keys[3], ann))
		w.must(w.s.Support().Hold(w.ctx, "", keys[4], ann))
		list := func(of automation.Subject, at time.Time, coming bool, limit int) (out []string) {
			for p := (storage.Page{Limit: limit}); ; {
				rows, next, err := w.s.Support().Schedules(w.ctx, "", of, at, coming, p)
				w.must(err)
				for _, r := range rows {
					out = append(out, r.Key)
				}
				if p.After = next; next == "" {
					return out
				}
			}
		}
		middle := w.row(keys[2]).ScheduledOn
		back := []string{keys[2], keys[1], keys[0]}
		for _, of := range []automation.Subject{{Person: "sam"}, {Source: candidate(nil).Source}} {
			for _, limit := range []int{2, 100} {
				if diff := cmp.Diff(back, list(of, middle, false, limit)); diff != "" {
					w.t.Errorf("%+v: %s", of, diff)
				}
				if diff := cmp.Diff(keys[3:], list(of, middle, true, limit)); diff != "" {
					w.t.Errorf("%+v: %s", of, diff)
				}
			}
		}
		for reason, want := range map[automation.Reason]string{reasons.HeldBySupport: keys[4], reasons.CancelledBySupport: keys[3], reasons.RetriesExhausted: ""} {
			rows, next, err := w.s.Support().Held(w.ctx, "", reason, storage.Page{})
			if err != nil || next != "" || len(rows) > 1 || len(rows) == 1 && rows[0].Key != want || len(rows) == 0 && want != "" {
				w.t.Errorf("%s: %+v, %v", reason, rows, err)
			}
		}
		for _, of := range []automation.Subject{{}, {Person: "sam", Source: candidate(nil).Source}, {Source: automation.Source{ID: "7"}}} {
			if _, _, err := w.s.Support().Schedules(w.ctx, "", of, middle, true, storage.Page{}); err == nil {
				w.t.Errorf("%+v is not an error", of)
			}
		}
	})
}
