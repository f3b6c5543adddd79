package automation_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
)

func (w *world) pause(e automation.Extent, until time.Time) {
	w.t.Helper()
	if err := w.s.Support().Pause(w.ctx, e, until, ann); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) resume(e automation.Extent) {
	w.t.Helper()
	if err := w.s.Support().Resume(w.ctx, e, ann); err != nil {
		w.t.Fatal(err)
	}
}

// visits are a second type beside certificates.
func visits() automation.ReminderType {
	return certificates(func(t *automation.ReminderType) { t.Name = "visit" })
}

// crowd makes a row of each of two types in each of two scopes, due on 1 April.
func (w *world) crowd() {
	w.t.Helper()
	w.s.Register(certificates(nil))
	w.s.Register(visits())
	for _, scope := range []automation.Scope{"north", "south"} {
		for _, name := range []string{"certificate", "visit"} {
			w.ensure(candidate(func(c *automation.Candidate) { c.Scope, c.Type = scope, name }))
		}
	}
}

// sentTo are the scope and type of what was dispatched since the last time.
func (w *world) sent() map[string]int {
	w.out.mu.Lock()
	defer w.out.mu.Unlock()
	out := map[string]int{}
	for _, j := range w.out.jobs {
		out[string(j.Scope)+" "+j.Type]++
	}
	w.out.jobs = nil
	return out
}

func TestAPauseStopsWhatItCoversAndNothingElse(t *testing.T) {
	for name, c := range map[string]struct {
		of   []automation.Extent
		runs map[string]int
	}{
		"a type in a scope": {
			[]automation.Extent{{Scope: "north", Type: "visit"}},
			map[string]int{"north certificate": 1, "south certificate": 1, "south visit": 1},
		},
		"a scope":           {[]automation.Extent{{Scope: "north"}}, map[string]int{"south certificate": 1, "south visit": 1}},
		"a type everywhere": {[]automation.Extent{{Everywhere: true, Type: "visit"}}, map[string]int{"north certificate": 1, "south certificate": 1}},
		"all of it":         {[]automation.Extent{{Everywhere: true}}, map[string]int{}},
		"two of them":       {[]automation.Extent{{Scope: "north"}, {Everywhere: true, Type: "visit"}}, map[string]int{"south certificate": 1}},
		"another's": {
			[]automation.Extent{{}, {Type: "visit"}, {Scope: "west", Type: "visit"}, {Everywhere: true, Type: "course"}},
			map[string]int{"north certificate": 1, "north visit": 1, "south certificate": 1, "south visit": 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachWorld(t, func(w *world) {
				w.crowd()
				for _, e := range c.of {
					w.pause(e, time.Time{})
				}
				w.pollAt(day(2026, 4, 1, 9))
				if diff := cmp.Diff(c.runs, w.sent()); diff != "" {
					w.t.Error(diff)
				}
				for _, e := range c.of {
					w.resume(e)
				}
				if report := w.poll(); report.Settled != 4-len(c.runs) || report.Abandoned != 0 {
					w.t.Errorf("after the pause: %+v", report)
				}
			})
		})
	}
}

// Two processes, each with a poller that goes on: both heed a pause, and its end,
// with their next poll.
func TestAPauseIsEffectiveWithinOnePollOfEveryProcess(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(nil))
		other := newWorld(w.t, w.store, w.clk, nil)
		other.s.Register(certificates(nil))
		mine, theirs := w.runner(), other.runner()
		w.clk.Set(day(2026, 4, 1, 9))
		n := 0
		polls := func(want int) {
			w.t.Helper()
			for _, runner := range []work.Runner{mine, theirs} {
				n++
				w.ensure(candidate(func(c *automation.Candidate) { c.TriggerKey = fmt.Sprint(n) }))
				if report, err := runner.Poll(w.ctx, 100); err != nil || report.Settled != want {
					w.t.Errorf("poll %d: %+v %v, want %d", n, report, err, want)
				}
			}
		}
		polls(1)
		w.pause(automation.Extent{Type: "certificate"}, time.Time{})
		polls(0)
		polls(0)
		w.resume(automation.Extent{Type: "certificate"})
		if report, err := theirs.Poll(w.ctx, 100); err != nil || report.Settled != 4 {
			w.t.Errorf("what waited: %+v %v", report, err)
		}
		polls(1)
		w.pause(automation.Extent{}, w.clk.Now().Add(time.Hour))
		polls(0)
		w.clk.Add(time.Hour) // it ends by itself
		if report, err := mine.Poll(w.ctx, 100); err != nil || report.Settled != 2 {
			w.t.Errorf("what waited: %+v %v", report, err)
		}
	})
}

func TestAPauseLeavesAloneWhatAWorkerHas(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(func(t *automation.ReminderType) {
			t.Recipients = automation.RecipientFunc(func(context.Context, automation.Due) ([]notify.Recipient, error) {
				w.pause(automation.Extent{}, time.Time{})
				return []notify.Recipient{sam}, nil
			})
		}))
		w.ensure(candidate(nil))
		if report := w.pollAt(day(2026, 4, 1, 9)); report.Settled != 1 || report.Stale != 0 {
			w.t.Errorf("%+v", report)
		}
		if row := w.row(certificateKey); row.Status != automation.StatusCompleted {
			w.t.Errorf("%+v", row)
		}
	})
}

// 10,000 rows that are paused lie in front of five that are not: they are
// neither claimed and given back nor asked about again and again.
func TestAPausedBacklogCostsAPollThreeStatements(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		spy, calls := storetest.Counting(store)
		w := newWorld(t, spy, clk, nil)
		w.s.Register(certificates(nil))
		w.s.Register(visits())
		const idle = "next automation_scheduler"
		runner := w.runner()
		poll := func(settled int) []string {
			t.Helper()
			calls.Take()
			if report, err := runner.Poll(w.ctx, 1000); err != nil || report.Settled != settled {
				t.Errorf("%+v %v, want %d", report, err, settled)
			}
			return calls.Verbs()
		}
		var many []automation.Candidate
		for n := range 10_000 {
			many = append(many, candidate(func(c *automation.Candidate) { c.TriggerKey = fmt.Sprint(n) }))
		}
		for page := range 10 {
			w.ensure(many[page*1000 : (page+1)*1000]...)
		}
		if diff := cmp.Diff([]string{idle}, poll(0)); diff != "" {
			t.Error("nothing is due, nothing is paused:", diff)
		}
		w.pause(automation.Extent{Scope: "", Type: "certificate"}, time.Time{})
		if diff := cmp.Diff([]string{idle}, poll(0)); diff != "" {
			t.Error("nothing is due:", diff)
		}
		clk.Set(day(2026, 4, 2, 9))
		poll(0) // learns of the pause
		for range 3 {
			if diff := cmp.Diff([]string{"select automation_pause", idle}, poll(0)); diff != "" {
				t.Error("what is due is paused:", diff)
			}
		}
		for n := range 5 {
			w.ensure(candidate(func(c *automation.Candidate) {
				c.Type, c.TriggerKey, c.TargetDate = "visit", fmt.Sprint(n), date(2026, 5, 2)
			}))
		}
		if used := poll(5); len(used) > 12 {
			t.Errorf("%d statements: %v", len(used), used)
		}
		if diff := cmp.Diff([]string{"select automation_pause", idle}, poll(0)); diff != "" {
			t.Error(diff)
		}
		w.resume(automation.Extent{Scope: "", Type: "certificate"})
		if report, err := runner.Poll(w.ctx, 1000); err != nil || report.Settled < 100 {
			t.Errorf("after the pause: %+v %v", report, err)
		}
	})
}

func TestPausesAreListedAndAudited(t *testing.T) {
	eachWorld(t, func(w *world) {
		until := start.Add(time.Hour)
		bob := automation.By{Actor: "bob", Reason: "the gateway is down"}
		if err := w.s.Support().Pause(w.ctx, automation.Extent{Everywhere: true, Type: "visit"}, time.Time{}, bob); err != nil {
			w.t.Fatal(err)
		}
		w.pause(automation.Extent{Scope: "north"}, until)
		w.clk.Add(time.Minute)
		w.pause(automation.Extent{Scope: "north"}, until.Add(time.Hour)) // a later end
		w.pause(automation.Extent{Scope: "south", Type: "visit"}, time.Time{})
		everywhere := automation.Pause{automation.Extent{Everywhere: true, Type: "visit"}, bob, start, time.Time{}}
		w.listed("north", everywhere, automation.Pause{automation.Extent{Scope: "north"}, ann, start, until.Add(time.Hour)})
		w.listed("", everywhere)
		w.clk.Add(2 * time.Hour)
		w.listed("north", everywhere)
		w.resume(automation.Extent{Everywhere: true, Type: "visit"})
		w.listed("north")
		w.pause(automation.Extent{Everywhere: true, Type: "visit"}, time.Time{})
		if diff := cmp.Diff([]string{"bob Pause Resumed Paused", "ann Resume Paused Resumed", "ann Pause Resumed Paused"}, w.audited("automation_pause", "everywhere:type:visit")); diff != "" {
			w.t.Error(diff)
		}
	})
}

func (w *world) listed(scope automation.Scope, want ...automation.Pause) {
	w.t.Helper()
	got, err := w.s.Support().Pauses(w.ctx, scope)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		w.t.Error(err, diff)
	}
}

// audited are the audit's entries about a row of the empty scope.
func (w *world) audited(table, key string) []string {
	w.t.Helper()
	out := []string{}
	err := w.store.InTx(w.ctx, func(tx storage.Tx) error {
		entries, err := audit.History(w.ctx, tx, "", table, key, 100)
		for _, e := range entries {
			out = append(out, strings.Join([]string{e.Actor, e.Action, e.From, e.To}, " "))
		}
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

func TestAPauseNeedsAnExtentAnEndToComeAndSomebodyWithAReason(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.pause(automation.Extent{Scope: "north"}, time.Time{})
		before := time.Time{}
		for want, err := range map[string]error{
			"Scope, and Everywhere":            w.s.Support().Pause(w.ctx, automation.Extent{Scope: "north", Everywhere: true}, before, ann),
			"Scope keys: identity: part 1":     w.s.Support().Pause(w.ctx, automation.Extent{Scope: "\x00any"}, before, ann),
			"Type: the name":                   w.s.Support().Pause(w.ctx, automation.Extent{Type: "a:b"}, before, ann),
			"Scope keys: ":                     w.s.Support().Pause(w.ctx, automation.Extent{Scope: "a\x1fb"}, before, ann),
			"2026-03-01T08:00:00Z has passed":  w.s.Support().Pause(w.ctx, automation.Extent{}, start, ann),
			"no reason is given":               w.s.Support().Pause(w.ctx, automation.Extent{}, before, automation.By{Actor: "ann"}),
			"no actor is given":                w.s.Support().Resume(w.ctx, automation.Extent{}, automation.By{Reason: "r"}),
			"ann has paused it already":        w.s.Support().Pause(w.ctx, automation.Extent{Scope: "north"}, before, ann),
			"Resume of all: it is not paused":  w.s.Support().Resume(w.ctx, automation.Extent{}, ann),
			"Resume of type:visit: it is not ": w.s.Support().Resume(w.ctx, automation.Extent{Scope: "north", Type: "visit"}, ann),
		} {
			if err == nil || !strings.Contains(err.Error(), want) {
				w.t.Errorf("%v, want %q", err, want)
			}
		}
		if err := w.s.Support().Resume(w.ctx, automation.Extent{}, ann); !errors.Is(err, automation.ErrActionRefused) {
			w.t.Error(err)
		}
		if _, err := w.s.Support().Pauses(w.ctx, "\x00any"); err == nil {
			w.t.Error("pauses of no tenant")
		}
		w.listed("north", automation.Pause{automation.Extent{Scope: "north"}, ann, start, time.Time{}})
		w.listed("")
	})
}
