package automation_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// story is the history of a row of the empty scope, a line for each transition,
// all of which are in the table (I-16).
func (w *world) story(key string) []string {
	w.t.Helper()
	e, err := w.s.Explain(w.ctx, "", key)
	if err != nil {
		w.t.Fatal(err)
	}
	out := []string{}
	for _, t := range e.History {
		out = append(out, strings.TrimPrefix(t.String(), "2026-"))
		if t.From != "" && t.From != t.To && !automation.States()[0].Legal(t.From, t.To) {
			w.t.Errorf("%s is not in the table", t)
		}
	}
	return out
}

// A row that went the usual way needs no line but its own.
func TestTheUsualWayWritesNoHistory(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		spy, calls := storetest.Counting(store)
		w := newWorld(t, spy, clk, nil)
		p := w.withTriggers(nil)
		p.set(offsets(date(2026, 5, 1), 30)...)
		w.handle(changed(1))
		w.handle(changed(1))
		w.pollAt(day(2026, 4, 1, 9))
		if used := calls.Verbs(); slices.Contains(used, "insert audit_entry") {
			t.Error(used)
		}
		want := []string{
			"03-01T08:00:00Z: Created by event certificate-changed e1",
			"04-01T09:00:00Z: Completed by due pass (Processing to Completed)",
		}
		if diff := cmp.Diff(want, w.story(certificateKey)); diff != "" {
			t.Error(diff)
		}
	})
}

// Everything that can happen to one row, and who did it and why.
func TestTheHistoryTellsEachTransition(t *testing.T) {
	eachWorld(t, func(w *world) {
		fail := error(nil)
		p := w.withTriggers(func(t *automation.ReminderType) {
			t.Recipients = automation.RecipientFunc(failingNow(&fail))
		})
		p.set(offsets(date(2026, 5, 1), 30)...)
		w.handle(changed(1))
		p.candidates[0].SendAt = "10:00"
		w.handle(changed(2))
		p.set()
		w.handle(changed(3))
		p.set(offsets(date(2026, 5, 1), 30)...)
		w.handle(changed(4))
		w.clk.Set(day(2026, 4, 1, 9))
		w.claim(time.Minute)
		w.clk.Add(time.Hour)
		w.poll()
		w.clk.Add(6 * time.Minute)
		fail = errBoom
		w.poll()
		w.do(w.s.Support().Hold)
		w.ensure(candidate(func(c *automation.Candidate) { c.SendAt = "11:00" }))
		w.do(w.s.Support().Release)
		fail = automation.Permanent(errBoom)
		w.clk.Add(2 * time.Hour)
		w.poll()
		got := w.story(certificateKey)
		want := []string{
			"03-01T08:00:00Z: Created by event certificate-changed e1",
			"03-01T08:00:00Z: Updated by event certificate-changed e2: for 2026-04-01T10:00:00Z",
			"03-01T08:00:00Z: Deactivated by event certificate-changed e3: Superseded (Pending to Deactivated)",
			"03-01T08:00:00Z: Reactivated by event certificate-changed e4: for 2026-04-01T09:00:00Z (Deactivated to Pending)",
			"04-01T10:00:00Z: LeaseLost by due pass: LeaseExpired, again at ~ (Processing to Pending)",
			"04-01T10:06:00Z: TryFailed by due pass: HandlerFailed, again at ~ (Processing to Pending)",
			"04-01T10:06:00Z: Hold by ann: a call from the school",
			"04-01T10:06:00Z: Updated by host: for 2026-04-01T11:00:00Z",
			"04-01T10:06:00Z: Release by ann: a call from the school",
			"04-01T12:06:00Z: TryFailed by due pass: HandlerFailed, on hold: PermanentFailure (Processing to Failed)",
		}
		for i, text := range got {
			if head, rest, ok := strings.Cut(text, "again at "); ok {
				_, rest, _ = strings.Cut(rest, " ")
				got[i] = head + "again at ~ " + rest // the jitter
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			w.t.Error(diff)
		}
	})
}

func failingNow(err *error) automation.RecipientFunc {
	return func(context.Context, automation.Due) ([]notify.Recipient, error) {
		return []notify.Recipient{sam}, *err
	}
}

func TestTheHistoryTellsOfConflicts(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(nil))
		w.ensure(candidate(nil))
		other := candidate(func(c *automation.Candidate) { c.Identity = map[string]string{"course": "b"} })
		for range 2 { // the second changes nothing
			var conflict *notify.ConflictError
			if _, err := w.s.Ensure(w.ctx, other); !errors.As(err, &conflict) {
				w.t.Error(err)
			}
		}
		want := []string{"03-01T08:00:00Z: Created by host", "03-01T08:00:00Z: Held by host: InputConflict"}
		if diff := cmp.Diff(want, w.story(certificateKey)); diff != "" {
			w.t.Error(diff)
		}
	})
}

// A row that is given back at shutdown was not tried, even after a try that was.
func TestAReleaseAtShutdownIsNoTransition(t *testing.T) {
	eachWorld(t, func(w *world) {
		fail := errBoom
		w.s.Register(certificates(func(t *automation.ReminderType) { t.Recipients = failingNow(&fail) }))
		w.ensure(candidate(nil))
		w.pollAt(day(2026, 4, 1, 9))
		w.clk.Add(10 * time.Minute)
		before := w.story(certificateKey)
		rows := w.claim(time.Hour)
		err := w.store.InTx(w.ctx, func(tx storage.Tx) error {
			automation.GiveBackRow(rows[0], driver.Now(w.store))
			rows[0].LeaseExpiresOn = time.Time{}
			if err := automation.Schedules.Save(w.ctx, tx, rows...); err != nil {
				return err
			}
			return automation.SettledRows(w.ctx, w.s, tx, rows)
		})
		if diff := cmp.Diff(before, w.story(certificateKey)); err != nil || diff != "" || len(before) != 2 {
			w.t.Error(err, before, diff)
		}
	})
}

// The runs about an entity are listed from their traces, page by page, and stay
// with their tenant and their kind of entity.
func TestTheRunsOfASourceAreListed(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(nil))
		var want []string
		for n := range 5 {
			c := candidate(func(c *automation.Candidate) { c.TriggerKey = fmt.Sprint(n) })
			w.ensure(c)
			want = append(want, strings.Replace(certificateKey, "default", c.TriggerKey, 1))
		}
		w.ensure(candidate(func(c *automation.Candidate) { c.Scope = "north" }), candidate(func(c *automation.Candidate) { c.Source.Type = "car" }),
			candidate(func(c *automation.Candidate) { c.Source.ID = "77" }), candidate(func(c *automation.Candidate) { c.DaysBefore = 1 }))
		w.pollAt(day(2026, 4, 1, 9))
		var got []string
		var page storage.Page
		for page.Limit = 2; ; {
			jobs, _, err := w.s.Support().History(w.ctx, "", automation.Source{"employee", "7"}, page)
			if err != nil {
				w.t.Fatal(err)
			}
			for _, j := range jobs {
				got = append(got, j.SchedulerKey)
				page.After = j.Key
			}
			if len(jobs) < 2 {
				break
			}
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			w.t.Error(diff)
		}
		err := w.store.InTx(w.ctx, func(tx storage.Tx) error {
			jobs, _, err := w.s.WithTx(tx).Support().History(w.ctx, "north", automation.Source{"employee", "7"}, storage.Page{})
			if len(jobs) != 1 || jobs[0].Scope != "north" {
				w.t.Errorf("%+v", jobs)
			}
			return err
		})
		if err != nil {
			w.t.Error(err)
		}
		if _, _, err := w.s.Support().History(w.ctx, "\x00any", automation.Source{"employee", "7"}, storage.Page{}); err == nil {
			w.t.Error("runs of all tenants")
		}
		bare := automation.New(w.store, struct{ notify.DeliveryDispatcher }{w.out}, nil)
		if _, _, err := bare.Support().History(w.ctx, "", automation.Source{"employee", "7"}, storage.Page{}); err == nil || !strings.Contains(err.Error(), "keeps no traces") {
			w.t.Error(err)
		}
	})
}

// The traces are for people: no poll looks for work in them, and what is written
// into them is found by its key.
func TestNoPollScansTheTraces(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		spy, calls := storetest.Counting(store)
		w := newWorld(t, spy, clk, nil)
		w.s.Register(certificates(nil))
		for n := range 50 {
			w.ensure(candidate(func(c *automation.Candidate) { c.TriggerKey = fmt.Sprint(n) }))
		}
		clk.Set(day(2026, 4, 1, 9))
		calls.Take()
		var runners []work.Runner
		for _, pass := range append(w.s.Passes(), w.out.Passes()...) {
			runners = append(runners, pass.Runner(work.Options{Logger: w.opts.Logger}))
		}
		for claimed := 1; claimed > 0; { // a drain
			claimed = 0
			for _, r := range runners {
				report, err := r.Poll(w.ctx, 20)
				if err != nil {
					t.Fatal(err)
				}
				claimed += report.Claimed
			}
		}
		written := 0
		for _, c := range calls.Take() {
			if c.Table != "automation_job" {
				continue
			}
			byKey := slices.ContainsFunc(c.Where, func(c driver.Cond) bool { return c.Column == "key" && c.Op == driver.OpIn })
			switch {
			case c.Verb == storetest.Insert:
				written++
			case c.Verb == storetest.Get: // by scope and key
			case c.Verb != storetest.Select || !byKey:
				t.Errorf("%+v", c)
			}
		}
		if written == 0 {
			t.Error("no trace was written, so this test shows nothing")
		}
	})
}
