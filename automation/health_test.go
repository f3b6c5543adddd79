package automation_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/health"
	"github.com/belfry-go/belfry/internal/backlog"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

func (w *world) health(reach storage.ScopeFilter) health.Summary {
	w.t.Helper()
	h, err := w.s.Health(w.ctx, reach)
	if err != nil {
		w.t.Fatal(err)
	}
	return h
}

// reminders are due rows of automation_scheduler.
func reminders(kind string, change func(*health.Due)) health.Due {
	d := health.Due{Table: "automation_scheduler", Kind: kind}
	change(&d)
	return d
}

// of is a candidate in a scope, of a type, at its moment on the first of April.
func of(scope automation.Scope, name string, n int) automation.Candidate {
	return candidate(func(c *automation.Candidate) { c.Scope, c.Type, c.TriggerKey = scope, name, fmt.Sprint(n) })
}

func TestHealthOfNothingIsGood(t *testing.T) {
	eachWorld(t, func(w *world) {
		nothing := health.Summary{On: start, Everywhere: true}
		if diff := cmp.Diff(nothing, w.health(storage.Everywhere())); diff != "" {
			w.t.Error(diff)
		}
		w.ensure(candidate(nil))
		if diff := cmp.Diff(nothing, w.health(storage.Everywhere())); diff != "" { // it is due in a month
			w.t.Error(diff)
		}
	})
}

func TestHealthCountsWhatIsDueAndServedByNobody(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(nil))
		w.ensure(of("", "certificate", 1), of("", "certificate", 2), of("", "invoice", 1))
		w.ensure(candidate(func(c *automation.Candidate) { c.Type, c.SendAt, c.Lane = "parcel", "07:30", 7 })) // a lane that no poller lists
		w.ensure(candidate(func(c *automation.Candidate) { c.SendAt, c.Lane = "10:00", storage.LaneUrgent }))
		w.clk.Set(day(2026, 4, 1, 9).Add(30 * time.Minute))
		h := w.health(storage.Within(""))
		parcel := reminders("parcel", func(d *health.Due) { d.Rows, d.Lane, d.OldestOn = 1, 7, day(2026, 4, 1, 7).Add(30*time.Minute) })
		invoice := reminders("invoice", func(d *health.Due) { d.Rows, d.OldestOn = 1, day(2026, 4, 1, 9) })
		want := health.Summary{
			On: day(2026, 4, 1, 9).Add(30 * time.Minute),
			Due: []health.Due{
				parcel,
				reminders("certificate", func(d *health.Due) { d.Rows, d.OldestOn, d.Served = 2, day(2026, 4, 1, 9), true }),
				invoice,
			},
		}
		if diff := cmp.Diff(want, h); diff != "" {
			w.t.Error(diff)
		}
		if diff := cmp.Diff([]health.Due{parcel, invoice}, h.Unserved()); diff != "" || h.OldestDue() != 2*time.Hour {
			w.t.Error(diff, h.OldestDue())
		}
		w.poll()
		h = w.health(storage.Everywhere())
		if diff := cmp.Diff([]health.Due{parcel, invoice}, h.Unserved()); diff != "" || len(h.Due) != 2 {
			w.t.Error(diff)
		}
	})
}

// A worker that works is not a reason to worry, one that is gone is.
func TestHealthTellsWhatWorkersHaveFromWhatTheyLeft(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(nil))
		w.ensure(of("", "certificate", 1), of("", "certificate", 2))
		w.clk.Set(day(2026, 4, 1, 9))
		w.claim(time.Minute)
		want := []health.Due{reminders("certificate", func(d *health.Due) { d.Held, d.Served = 2, true })}
		h := w.health(storage.Everywhere())
		if diff := cmp.Diff(want, h.Due); diff != "" || h.OldestDue() != 0 {
			w.t.Error(diff)
		}
		w.clk.Add(time.Minute)
		want = []health.Due{reminders("certificate", func(d *health.Due) {
			d.Rows, d.Abandoned, d.OldestOn, d.Served = 2, 2, day(2026, 4, 1, 9), true
		})}
		if diff := cmp.Diff(want, w.health(storage.Everywhere()).Due); diff != "" {
			w.t.Error(diff)
		}
		w.poll()
		if h := w.health(storage.Everywhere()); h.LeaseLosses != 2 || len(h.Due) != 0 {
			w.t.Errorf("%+v", h)
		}
	})
}

func TestHealthCountsHoldsByReason(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(func(t *automation.ReminderType) { t.Recipients = failing(automation.Permanent(errBoom)) }))
		w.ensure(of("", "certificate", 1), of("", "certificate", 2), candidate(nil))
		w.pollAt(day(2026, 4, 1, 9).Add(-time.Hour))
		w.do(w.s.Support().Hold)
		w.pollAt(day(2026, 4, 1, 9))
		want := []health.Count{
			{Table: "automation_scheduler", Reason: "PermanentFailure", Rows: 2, OldestOn: day(2026, 3, 1, 8)},
			{Table: "automation_scheduler", Reason: "HeldBySupport", Rows: 1, OldestOn: day(2026, 3, 1, 8)},
		}
		if diff := cmp.Diff(want, w.health(storage.Everywhere()).Holds); diff != "" {
			w.t.Error(diff)
		}
	})
}

// I-28: a tenant's health is that of its own rows.
func TestI28_HealthIsOfTheScopesThatWereAskedFor(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.ensure(of("north", "certificate", 1), of("north", "certificate", 2), of("south", "certificate", 1), of("south", "secret", 2))
		w.clk.Set(day(2026, 4, 1, 9))
		if err := w.s.Support().Hold(w.ctx, "south", w.ensure(of("south", "held", 3))[0].Key, ann); err != nil {
			w.t.Fatal(err)
		}
		for want, reach := range map[string]storage.ScopeFilter{
			"[{certificate 2}] []":             storage.Within("north"),
			"[{certificate 1} {secret 1}] [1]": storage.Within("south"),
			"[{certificate 3} {secret 1}] [1]": storage.Everywhere(),
			"[] []":                            storage.Within("west"),
			"[] [] ":                           storage.Within(""),
			"[] []  ":                          {}, // of the empty scope: to leave it out is not to ask for all
		} {
			h := w.health(reach)
			if got := brief(h); got != strings.TrimSpace(want) {
				w.t.Errorf("%q, %t: %s, want %s", h.Scope, h.Everywhere, got, want)
			}
		}
	})
}

// brief is what a tenant could learn of others.
func brief(h health.Summary) string {
	var due []string
	for _, d := range h.Due {
		due = append(due, fmt.Sprintf("{%s %d}", d.Kind, d.Rows))
	}
	var held []int
	for _, r := range h.Holds {
		held = append(held, r.Rows)
	}
	return fmt.Sprint(due, " ", held)
}

func TestHealthCountsNoFurtherThanItsLimit(t *testing.T) {
	eachWorld(t, func(w *world) {
		var many []automation.Candidate
		for i := range backlog.Limit + 5 {
			many = append(many, of("", "certificate", i))
		}
		w.ensure(many...)
		w.clk.Set(day(2026, 4, 1, 10))
		h := w.health(storage.Everywhere())
		if !h.DueCapped || h.Due[0].Rows != backlog.Limit || !strings.Contains(h.String(), "due, certificate of automation_scheduler: 10000 or more") {
			w.t.Errorf("%+v", h)
		}
		w.hold(reasons.RetriesExhausted)
		h = w.health(storage.Everywhere())
		want := []health.Count{{Table: "automation_scheduler", Reason: "RetriesExhausted", Rows: backlog.Limit, Capped: true, OldestOn: h.Holds[0].OldestOn}}
		if cmp.Diff(want, h.Holds) != "" || h.DueCapped {
			w.t.Errorf("%+v", h)
		}
	})
}

// hold puts every row on hold.
func (w *world) hold(why automation.Reason) {
	w.t.Helper()
	err := w.store.InTx(w.ctx, func(tx storage.Tx) error {
		rows, err := automation.Schedules.Find(w.ctx, tx, "", driver.Query{Limit: 2 * backlog.Limit})
		for _, r := range rows {
			automation.HoldRow(r, why, "")
		}
		if err != nil {
			return err
		}
		return automation.Schedules.Save(w.ctx, tx, rows...)
	})
	if err != nil {
		w.t.Fatal(err)
	}
}
