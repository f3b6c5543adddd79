package automation_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
)

// academy is a host as users of the package see it: reminders, messages, and one
// channel that keeps what it is given.
type academy struct {
	*testing.T
	clk       *clock.Mock
	reminders *automation.Scheduler
	messages  *notify.Notifier
	poller    *belfry.Poller

	mu   sync.Mutex
	sent []string // addresses, in order
}

// eachAcademy runs a story on every adapter, with the certificates that change
// makes of the usual ones.
func eachAcademy(t *testing.T, change func(*automation.ReminderType), story func(s *academy)) {
	t.Helper()
	t.Parallel()
	storetest.Each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		s, quiet := &academy{T: t, clk: clk}, slog.New(slog.NewTextHandler(io.Discard, nil))
		s.messages = notify.New(store, &notify.Options{Logger: quiet}, channel.Func("email:print", func(_ context.Context, m channel.Message) (channel.Receipt, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.sent = append(s.sent, m.To)
			return channel.Receipt{ID: "accepted"}, nil
		}))
		s.reminders = automation.New(store, s.messages, &automation.Options{Logger: quiet})
		reminder := certificate
		reminder.Zone = "UTC"
		change(&reminder)
		s.reminders.Register(reminder)
		s.poller = belfry.NewPoller(store, &belfry.Options{Logger: quiet}, s.reminders, s.messages)
		story(s)
	})
}

func (s *academy) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *academy) same(what string, want, got any) {
	s.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		s.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// at moves the clock and does all that is due.
func (s *academy) at(on time.Time) {
	s.Helper()
	s.clk.Set(on)
	s.must(s.poller.Drain(s.Context()))
}

func (s *academy) handle(e automation.Event) automation.EventResult {
	s.Helper()
	out, err := s.reminders.HandleEvent(s.Context(), e)
	s.must(err)
	return out
}

func (s *academy) row(key string) *automation.Schedule {
	s.Helper()
	story, err := s.reminders.Explain(s.Context(), "", key)
	s.must(err)
	return story.Schedule
}

// renewals end all that there is of a source before they ask for what it is to be
// reminded of from now on.
type renewals struct{ expiries }

func (renewals) Invalidations(_ context.Context, e automation.Event) ([]automation.Invalidation, error) {
	return []automation.Invalidation{{Setting: "certificate", Source: e.Source, Reason: "Renewed"}}, nil
}

// Old rows are ended first, and what the event asks for is made sure of behind
// that: a row that is both ended and asked for goes on.
func TestAnEventEndsOldRowsBeforeItAsksForNewOnes(t *testing.T) {
	provider := renewals{expiries{"7": automation.Date{Year: 2026, Month: 5, Day: 1}}}
	eachAcademy(t, func(r *automation.ReminderType) { r.Triggers, r.Invalidations = provider, provider }, func(s *academy) {
		const key = "reminder:certificate:employee:7:default:2026-05-01:30"
		e := automation.Event{ID: "e1", Type: "certificate-changed", Source: automation.Source{Type: "employee", ID: "7"}, Version: 1}
		s.handle(e)
		e.ID, e.Version = "e2", 2
		got := s.handle(e)
		s.same("ended", 2, len(got.Deactivated))
		for _, answer := range got.Ensured {
			s.same("outcome of "+answer.Key, storage.Reactivated, answer.Outcome)
		}
		s.same("status", automation.StatusPending, s.row(key).Status)
		s.at(time.Date(2026, 4, 1, 9, 0, 0, 0, time.UTC))
		s.same("status when it is due", automation.StatusCompleted, s.row(key).Status)
		s.same("messages", 1, len(s.sent))
	})
}

// losses tell sam at once, and kim at noon.
type losses struct{}

func (losses) EventTypes() []string { return []string{"certificate-lost"} }

func (losses) Notifications(context.Context, automation.Event) ([]automation.Immediate, error) {
	to := func(name string) []notify.Recipient {
		return []notify.Recipient{{Ref: name, Channel: "email:print", Address: name + "@example.com"}}
	}
	return []automation.Immediate{
		{Recipients: to("sam"), Data: map[string]string{"TargetDate": "none"}},
		{Type: "noon", Recipients: to("kim"), On: storetest.Start.Add(4 * time.Hour)},
	}, nil
}

// An immediate notification is a job and its schedule: without the schedule it
// would be in the history and never go out. It has its own moment, and a repeated
// event sends nothing more.
func TestAnImmediateNotificationGoesOutAtItsMoment(t *testing.T) {
	eachAcademy(t, func(r *automation.ReminderType) { r.Immediate = losses{} }, func(s *academy) {
		s.messages.Register(notify.Type{Name: "noon", Renderer: notify.Template{Subject: "It is noon"}})
		e := automation.Event{ID: "e1", Type: "certificate-lost", Source: automation.Source{Type: "employee", ID: "7"}}
		first := s.handle(e)
		s.handle(e)
		var on []time.Time
		for _, job := range first.Immediate {
			trace, err := s.messages.Trace(s.Context(), "", job.Coordinates)
			s.must(err)
			for _, schedule := range trace.Schedules {
				on = append(on, schedule.ScheduledOn)
			}
		}
		s.same("moments of the schedules", []time.Time{storetest.Start, storetest.Start.Add(4 * time.Hour)}, on)
		var got [][]string
		for _, after := range []time.Duration{0, 4*time.Hour - time.Second, 4 * time.Hour, 5 * time.Hour} {
			s.at(storetest.Start.Add(after))
			got = append(got, slices.Clone(s.sent))
		}
		sam, both := []string{"sam@example.com"}, []string{"sam@example.com", "kim@example.com"}
		s.same("sent", [][]string{sam, sam, both, both}, got)
	})
}

// Whatever is given up waits for a person: it is on hold with its reason, and a
// release takes it up again.
func TestI17_WhatIsGivenUpWaitsForAPersonAndGoesOn(t *testing.T) {
	faults := map[string]error{"7": errors.New("no connection"), "8": automation.Permanent(errors.New("no such table"))}
	fails := automation.RecipientFunc(func(_ context.Context, d automation.Due) ([]notify.Recipient, error) { return nil, faults[d.Source.ID] })
	eachAcademy(t, func(r *automation.ReminderType) { r.Recipients = fails }, func(s *academy) {
		because := map[string]automation.Reason{}
		for id, reason := range map[string]automation.Reason{"7": reasons.RetriesExhausted, "8": reasons.PermanentFailure} {
			got, err := s.reminders.Ensure(s.Context(), automation.Candidate{
				Type: "certificate", Source: automation.Source{Type: "employee", ID: id},
				TargetDate: automation.Date{Year: 2026, Month: 5, Day: 1}, DaysBefore: 30,
			})
			s.must(err)
			because[got[0].Key] = reason
		}
		for tries := range 5 {
			s.at(time.Date(2026, 4, 1, 9+2*tries, 0, 0, 0, time.UTC))
		}
		for key, reason := range because {
			row := s.row(key)
			s.same("given up", []any{automation.StatusFailed, true, reason, true},
				[]any{row.Status, row.IsOnSupportHold, row.HoldReason, row.DueOn.IsZero()})
			s.must(s.reminders.Support().Release(s.Context(), "", key, automation.By{Actor: "sam@support", Reason: "it is mended"}))
			row = s.row(key)
			s.same("released", []any{automation.StatusPending, false, false}, []any{row.Status, row.IsOnSupportHold, row.DueOn.IsZero()})
		}
	})
}

// "Old" are the open rows of the setting and source of the candidates only.
func TestOnlyRowsOfTheSettingAndSourceAreSuperseded(t *testing.T) {
	eachWorld(t, func(w *world) {
		p := w.withTriggers(nil)
		other := func(change func(*automation.Candidate)) { w.ensure(candidate(change)) }
		other(func(c *automation.Candidate) { c.Source.ID = "8" })
		other(func(c *automation.Candidate) { c.Source.Type = "contractor" })
		other(func(c *automation.Candidate) { c.Setting = "s2" })
		other(func(c *automation.Candidate) { c.Type, c.TriggerKey = "other", "o" })
		w.ensure(candidate(func(c *automation.Candidate) { c.Scope = "b" }))
		p.set(offsets(date(2026, 6, 1), 30)...)
		if got := w.handle(changed(1)); len(got.Deactivated) != 0 {
			w.t.Errorf("%+v", got)
		}
		p.settings = []string{"s2"} // now the provider speaks for that setting, too
		got := w.handle(changed(2))
		want := []automation.Deactivation{{"reminder:s2:employee:7:default:2026-05-01:30", reasons.Superseded}}
		if diff := cmp.Diff(want, got.Deactivated); diff != "" {
			w.t.Error(diff)
		}
	})
}

func TestInvalidationsEndRowsBySettingSourceAndKey(t *testing.T) {
	eachWorld(t, func(w *world) {
		var ask []automation.Invalidation
		w.s.Register(certificates(func(t *automation.ReminderType) {
			t.Invalidations = invalidations(func() []automation.Invalidation { return ask })
		}))
		for _, id := range []string{"1", "2", "3"} {
			w.ensure(candidate(func(c *automation.Candidate) { c.Source.ID = id }), candidate(func(c *automation.Candidate) { c.Source.ID, c.DaysBefore = id, 7 }))
		}
		k := func(id, days string) string {
			return "reminder:certificate:employee:" + id + ":default:2026-05-01:" + days
		}
		ask = []automation.Invalidation{
			{Setting: "certificate", Source: automation.Source{"employee", "1"}},
			{Setting: "certificate", Source: automation.Source{"employee", "2"}, Keys: []string{k("2", "7")}, Reason: "Resigned"},
		}
		w.handle(automation.Event{Type: "left", Source: automation.Source{"employee", "1"}})
		want := map[string]string{
			k("1", "30"): "Deactivated Invalidated", k("1", "7"): "Deactivated Invalidated",
			k("2", "30"): "Pending", k("2", "7"): "Deactivated Resigned", k("3", "30"): "Pending", k("3", "7"): "Pending",
		}
		if diff := cmp.Diff(want, w.statuses()); diff != "" {
			w.t.Error(diff)
		}
		ask = []automation.Invalidation{{Setting: "certificate", Reason: reasons.ReminderSettingInactive}} // all that is left
		got := w.handle(automation.Event{Type: "left", Source: automation.Source{"reminder-setting", "certificate"}})
		if len(got.Deactivated) != 3 {
			w.t.Errorf("%+v", got)
		}
		ask = []automation.Invalidation{{}}
		if _, err := w.s.HandleEvent(w.ctx, automation.Event{Type: "left", Source: automation.Source{"employee", "1"}}); err == nil || !strings.Contains(err.Error(), "invalidation 0 of certificate: no Setting") {
			w.t.Error(err)
		}
	})
}

type invalidations func() []automation.Invalidation

func (f invalidations) EventTypes() []string { return []string{"left"} }

func (f invalidations) Invalidations(context.Context, automation.Event) ([]automation.Invalidation, error) {
	return f(), nil
}

func TestManyOpenRowsOfASettingAreAllEnded(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(func(t *automation.ReminderType) {
			t.Invalidations = invalidations(func() []automation.Invalidation { return []automation.Invalidation{{Setting: "certificate"}} })
		}))
		var many []automation.Candidate
		for n := range 2*automation.DeactivatePage + 3 {
			many = append(many, candidate(func(c *automation.Candidate) { c.DaysBefore = -n }))
		}
		w.ensure(many...)
		if got := w.handle(automation.Event{Type: "left", Source: automation.Source{"a", "b"}}); len(got.Deactivated) != len(many) {
			w.t.Errorf("%d of %d", len(got.Deactivated), len(many))
		}
	})
}
