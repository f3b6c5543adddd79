package automation_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

func (w *world) health(scopes ...automation.Scope) automation.Health {
	w.t.Helper()
	h, err := w.s.Health(w.ctx, scopes...)
	if err != nil {
		w.t.Fatal(err)
	}
	return h
}

// of is a candidate in a scope, of a type, at its moment on the first of April.
func of(scope automation.Scope, name string, n int) automation.Candidate {
	return candidate(func(c *automation.Candidate) { c.Scope, c.Type, c.TriggerKey = scope, name, fmt.Sprint(n) })
}

func TestHealthOfNothingIsGood(t *testing.T) {
	eachWorld(t, func(w *world) {
		if diff := cmp.Diff(automation.Health{On: start}, w.health()); diff != "" {
			w.t.Error(diff)
		}
		w.ensure(candidate(nil))
		if diff := cmp.Diff(automation.Health{On: start}, w.health()); diff != "" { // it is due in a month
			w.t.Error(diff)
		}
	})
}

//spec:a-116
func TestHealthCountsWhatIsDueAndServedByNobody(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(nil))
		w.ensure(of("", "certificate", 1), of("", "certificate", 2), of("", "invoice", 1))
		w.ensure(candidate(func(c *automation.Candidate) { c.Type, c.SendAt, c.Lane = "parcel", "07:30", 7 })) // a lane that no poller lists
		w.ensure(candidate(func(c *automation.Candidate) { c.SendAt, c.Lane = "10:00", storage.LaneUrgent }))
		w.clk.Set(day(2026, 4, 1, 9).Add(30 * time.Minute))
		h := w.health()
		want := automation.Health{
			On: day(2026, 4, 1, 9).Add(30 * time.Minute), OldestDueOn: day(2026, 4, 1, 7).Add(30 * time.Minute),
			Due: []automation.DueRows{
				{Type: "certificate", Rows: 2, OldestDueOn: day(2026, 4, 1, 9), Served: true},
				{Type: "invoice", Rows: 1, OldestDueOn: day(2026, 4, 1, 9)},
				{Type: "parcel", Rows: 1, OldestDueOn: day(2026, 4, 1, 7).Add(30 * time.Minute)},
			},
		}
		if diff := cmp.Diff(want, h); diff != "" {
			w.t.Error(diff)
		}
		if diff := cmp.Diff([]string{"invoice", "parcel"}, h.Unserved()); diff != "" || h.OldestDue() != 2*time.Hour {
			w.t.Error(diff, h.OldestDue())
		}
		w.poll()
		if diff := cmp.Diff([]string{"invoice", "parcel"}, w.health().Unserved()); diff != "" || len(w.health().Due) != 2 {
			w.t.Error(diff)
		}
	})
}

// A worker that works is no reason to worry, one that is gone is.
func TestHealthTellsWhatWorkersHaveFromWhatTheyLeft(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(nil))
		w.ensure(of("", "certificate", 1), of("", "certificate", 2))
		w.clk.Set(day(2026, 4, 1, 9))
		w.claim(time.Minute)
		want := []automation.DueRows{{Type: "certificate", Held: 2, Served: true}}
		if diff := cmp.Diff(want, w.health().Due); diff != "" || w.health().OldestDue() != 0 {
			w.t.Error(diff)
		}
		w.clk.Add(time.Minute)
		want = []automation.DueRows{{Type: "certificate", Rows: 2, Abandoned: 2, OldestDueOn: day(2026, 4, 1, 9), Served: true}}
		if diff := cmp.Diff(want, w.health().Due); diff != "" {
			w.t.Error(diff)
		}
		w.poll()
		if h := w.health(); h.LeaseLosses != 2 || len(h.Due) != 0 {
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
		want := []automation.HeldRows{{Reason: automation.PermanentFailure, Rows: 2}, {Reason: automation.HeldBySupport, Rows: 1}}
		if diff := cmp.Diff(want, w.health().Holds); diff != "" {
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
		for want, h := range map[string]automation.Health{
			"[{certificate 2}] []":              w.health("north"),
			"[{certificate 1} {secret 1}] [1]":  w.health("south"),
			"[{certificate 3} {secret 1}] [1]":  w.health(),
			"[{certificate 3} {secret 1}] [1] ": w.health("north", "south"),
			"[] []":                             w.health("west"),
			"[] [] ":                            w.health(""),
		} {
			if got := brief(h); got != strings.TrimSpace(want) {
				w.t.Errorf("%q: %s, want %s", h.Scopes, got, want)
			}
		}
	})
}

// brief is what a tenant could learn of others.
func brief(h automation.Health) string {
	var due []string
	for _, d := range h.Due {
		due = append(due, fmt.Sprintf("{%s %d}", d.Type, d.Rows))
	}
	var held []int
	for _, r := range h.Holds {
		held = append(held, r.Rows)
	}
	return fmt.Sprint(due, " ", held)
}

//spec:a-116
func TestHealthCountsNoFurtherThanItsLimit(t *testing.T) {
	eachWorld(t, func(w *world) {
		var many []automation.Candidate
		for i := range automation.HealthLimit + 5 {
			many = append(many, of("", "certificate", i))
		}
		w.ensure(many...)
		w.clk.Set(day(2026, 4, 1, 10))
		h := w.health()
		if !h.DueCapped || h.Due[0].Rows != automation.HealthLimit || !strings.Contains(h.String(), "due, certificate: 1000 or more") {
			w.t.Errorf("%+v", h)
		}
		w.hold(automation.RetriesExhausted)
		h = w.health()
		if want := []automation.HeldRows{{Reason: automation.RetriesExhausted, Rows: automation.HealthLimit, Capped: true}}; cmp.Diff(want, h.Holds) != "" || h.DueCapped {
			w.t.Errorf("%+v", h)
		}
	})
}

// hold puts every row on hold.
func (w *world) hold(why automation.Reason) {
	w.t.Helper()
	err := w.store.InTx(w.ctx, func(tx storage.Tx) error {
		rows, err := automation.Schedules.Find(w.ctx, tx, "", driver.Query{Limit: 10000})
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

func TestHealthIsToldToPeople(t *testing.T) {
	t.Parallel()
	h := automation.Health{
		On: day(2026, 4, 1, 12), Scopes: []automation.Scope{"north", "south"}, OldestDueOn: day(2026, 4, 1, 9), DueCapped: true,
		Due: []automation.DueRows{
			{Type: "certificate", Rows: 998, Abandoned: 3, Held: 1, Served: true, OldestDueOn: day(2026, 4, 1, 9)},
			{Type: "invoice", Rows: 1, OldestDueOn: day(2026, 4, 1, 10)},
		},
		Holds: []automation.HeldRows{{automation.InputConflict, 2, false}, {automation.RetriesExhausted, 1000, true}}, LeaseLosses: 4,
	}
	want := `due work at 2026-04-01T12:00:00Z of "north", "south"
  the oldest has waited for 3h0m0s
  due, certificate: 998 or more, 3 of them left by a worker that is gone, and 1 with a worker
  due, invoice: 1 or more; not served by this process
  on hold, InputConflict: 2
  on hold, RetriesExhausted: 1000 or more
  leases lost to workers that died or stalled, seen here: 4`
	if diff := cmp.Diff(want, h.String()); diff != "" {
		t.Error(diff)
	}
	h = automation.Health{On: day(2026, 4, 1, 12)}
	want = `due work at 2026-04-01T12:00:00Z
  nothing waits for a worker
  nothing waits for a person
  leases lost to workers that died or stalled, seen here: 0`
	if diff := cmp.Diff(want, h.String()); diff != "" {
		t.Error(diff)
	}
	h.DueCapped = true
	if !strings.Contains(h.String(), "workers have all that was due first") {
		t.Error(h)
	}
}

func TestHealthEndsWithItsContext(t *testing.T) {
	eachWorld(t, func(w *world) {
		ctx, cancel := context.WithCancel(w.ctx)
		cancel()
		if _, err := w.s.Health(ctx); err == nil || !strings.Contains(err.Error(), "Health") {
			w.t.Error(err)
		}
	})
}
