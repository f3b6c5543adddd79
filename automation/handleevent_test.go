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
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
)

// withTriggers registers certificates whose candidates the story sets.
func (w *world) withTriggers(change func(*automation.ReminderType)) *triggers {
	p := &triggers{}
	w.s.Register(certificates(func(t *automation.ReminderType) {
		t.Triggers = p
		if change != nil {
			change(t)
		}
	}))
	return p
}

func key(d string, days string) string {
	return "reminder:certificate:employee:7:default:" + d + ":" + days
}

func outcomes(r automation.EventResult) []storage.Outcome {
	var out []storage.Outcome
	for _, e := range r.Ensured {
		out = append(out, e.Outcome)
	}
	return out
}

// A certificate is issued, its first reminder goes out, it is renewed, and the
// event is delivered again.
func TestARenewedCertificateLosesItsLaterReminders(t *testing.T) {
	eachWorld(t, func(w *world) {
		p := w.withTriggers(nil)
		p.set(offsets(date(2026, 5, 1), 30, 7, 1)...)
		w.handle(changed(1))
		w.pollAt(day(2026, 4, 1, 9))

		w.clk.Set(day(2026, 4, 20, 10))
		p.set(offsets(date(2029, 5, 1), 30, 7, 1)...)
		got := w.handle(changed(2))
		wantEnded := []automation.Deactivation{{key("2026-05-01", "1"), reasons.Superseded}, {key("2026-05-01", "7"), reasons.Superseded}}
		slices.SortFunc(got.Deactivated, func(a, b automation.Deactivation) int { return strings.Compare(a.Key, b.Key) })
		if diff := cmp.Diff(wantEnded, got.Deactivated); diff != "" {
			w.t.Error(diff)
		}
		renewed := w.rows()
		if again := w.handle(changed(2)); len(again.Deactivated) != 0 || !slices.Equal(outcomes(again), []storage.Outcome{storage.Unchanged, storage.Unchanged, storage.Unchanged}) {
			w.t.Errorf("%+v", again)
		}
		if diff := cmp.Diff(renewed, w.rows()); diff != "" {
			w.t.Error("a repeated event wrote rows:", diff)
		}

		w.pollAt(day(2026, 5, 2, 10))
		if diff := cmp.Diff([]string{key("2026-05-01", "30")}, w.out.dispatched()); diff != "" {
			w.t.Error(diff)
		}
		want := map[string]string{
			key("2026-05-01", "30"): "Completed",
			key("2026-05-01", "7"):  "Deactivated Superseded", key("2026-05-01", "1"): "Deactivated Superseded",
			key("2029-05-01", "30"): "Pending", key("2029-05-01", "7"): "Pending", key("2029-05-01", "1"): "Pending",
		}
		if diff := cmp.Diff(want, w.statuses()); diff != "" {
			w.t.Error(diff)
		}
		e, err := w.s.Explain(w.ctx, "", key("2026-05-01", "7"))
		if text := e.String(); err != nil || !strings.Contains(text, "event certificate-changed e2") || !strings.Contains(text, "Superseded") {
			w.t.Error(err, text)
		}
	})
}

func TestAnOlderEventCannotUndoANewerOne(t *testing.T) {
	eachWorld(t, func(w *world) {
		p := w.withTriggers(nil)
		p.set(offsets(date(2029, 5, 1), 30)...)
		w.handle(changed(5))
		before := w.rows()
		p.set(offsets(date(2026, 5, 1), 30)...)
		got := w.handle(changed(4))
		if diff := cmp.Diff(automation.EventResult{Outcome: automation.EventStale, SourceVersion: 5}, got); diff != "" {
			w.t.Error(diff)
		}
		if diff := cmp.Diff(before, w.rows()); diff != "" {
			w.t.Error(diff)
		}
		other := changed(1)
		other.Source.ID = "8"
		if got := w.handle(other); got.Outcome != automation.EventApplied || got.SourceVersion != 1 {
			w.t.Errorf("another source has its own order: %+v", got)
		}
	})
}

// Without versions the source is loaded behind the row that orders its events.
func TestASourceWithoutVersionsIsLoadedInsideTheTransaction(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		began, ended := 0, 0
		spy := &storetest.Spy{Store: store, Hook: func(c storetest.Call) error {
			switch c.Verb {
			case storetest.Begin:
				began++
			case storetest.Committed:
				ended++
			}
			return nil
		}}
		w := newWorld(t, spy, clk, nil)
		var inside []bool
		w.s.Register(certificates(func(t *automation.ReminderType) {
			t.Triggers = triggerFunc(func() []automation.Candidate {
				inside = append(inside, began > ended)
				return offsets(date(2026, 5, 1), 30)
			})
		}))
		w.handle(changed(1)) // what the process has to read once is read
		began, ended, inside = 0, 0, nil
		w.handle(changed(2))
		w.handle(changed(0))
		if diff := cmp.Diff([]bool{false, true}, inside); diff != "" {
			t.Error(diff)
		}
	})
}

type triggerFunc func() []automation.Candidate

func (f triggerFunc) EventTypes() []string { return []string{"certificate-changed"} }

func (f triggerFunc) Wanted(_ context.Context, of []automation.Request) ([]automation.Answer, error) {
	return wants(of, func(automation.Request) []automation.Candidate { return f() })
}

// An event deactivates a row while its handler runs: nothing is dispatched.
func TestARowThatAnEventEndsUnderItsHandlerDispatchesNothing(t *testing.T) {
	eachWorld(t, func(w *world) {
		var p *triggers
		renew := func(context.Context, automation.Due) ([]notify.Recipient, error) {
			p.set(offsets(date(2029, 5, 1), 30)...)
			w.handle(changed(2))
			return []notify.Recipient{sam}, nil
		}
		p = w.withTriggers(func(t *automation.ReminderType) { t.Recipients = automation.RecipientFunc(renew) })
		p.set(offsets(date(2026, 5, 1), 30)...)
		w.handle(changed(1))
		report := w.pollAt(day(2026, 4, 1, 9))
		if report.Stale != 1 || report.Settled != 0 {
			w.t.Errorf("%+v", report)
		}
		row := w.row(key("2026-05-01", "30"))
		if row.Status != automation.StatusDeactivated || row.ReasonCode != reasons.Superseded || !row.DueOn.IsZero() || !row.LeaseExpiresOn.IsZero() {
			w.t.Errorf("%+v", row)
		}
		if got := w.out.dispatched(); len(got) != 0 {
			w.t.Errorf("dispatched %v", got)
		}
	})
}

func TestAnEventMakesItsImmediateNotificationOnce(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(func(t *automation.ReminderType) {
			t.Immediate = immediates(func(e automation.Event) []automation.Immediate {
				return []automation.Immediate{{BusinessUnit: "north", Recipients: []notify.Recipient{sam}, Data: map[string]any{"Now": e.Data}}}
			})
		}))
		e := automation.Event{ID: "e1", Type: "certificate-lost", Source: automation.Source{"employee", "7"}, Data: 1}
		first := w.handle(e)
		e.Data = 2 // delivered again, and told differently
		second := w.handle(e)
		if first.Immediate[0].Outcome != storage.Created || second.Immediate[0].Outcome != storage.Unchanged || first.Immediate[0].Key != second.Immediate[0].Key {
			w.t.Errorf("%+v %+v", first, second)
		}
		want := notify.Coordinates{PartitionKey: "7", RowKey: "event:employee:7:certificate-lost:e1:certificate"}
		if diff := cmp.Diff(want, first.Immediate[0].Coordinates); diff != "" {
			w.t.Error(diff)
		}
		e.ID = ""
		if _, err := w.s.HandleEvent(w.ctx, e); err == nil || !strings.Contains(err.Error(), "eventId") {
			w.t.Error("an immediate notification needs the event's id:", err)
		}
	})
}

type immediates func(automation.Event) []automation.Immediate

func (f immediates) EventTypes() []string { return []string{"certificate-lost"} }

func (f immediates) Notifications(_ context.Context, e automation.Event) ([]automation.Immediate, error) {
	return f(e), nil
}

func TestAnEventThatNobodyHearsWritesNothing(t *testing.T) {
	eachWorld(t, func(w *world) {
		if got := w.handle(automation.Event{Type: "unheard", Source: automation.Source{"a", "b"}}); got.Outcome != automation.EventIgnored {
			w.t.Errorf("%+v", got)
		}
	})
}

func TestABadEventIsRefusedAndWritesNothing(t *testing.T) {
	eachWorld(t, func(w *world) {
		p := w.withTriggers(nil)
		p.set(offsets(date(2026, 5, 1), 30)...)
		w.handle(changed(1))
		before := w.rows()
		wrongSource := append(offsets(date(2027, 5, 1), 30), automation.Candidate{TargetDate: date(2027, 5, 1), Source: automation.Source{"employee", "8"}})
		for want, c := range map[string]struct {
			e          automation.Event
			candidates []automation.Candidate
			err        error
		}{
			"event without a Type":          {e: automation.Event{Source: automation.Source{"a", "b"}}},
			"negative Version":              {e: automation.Event{Type: "x", Version: -1, Source: automation.Source{"a", "b"}}},
			"Source: keys: identity":        {e: automation.Event{Type: "certificate-changed", Source: automation.Source{"a", ""}}},
			"candidates of certificate":     {e: changed(2), err: errBoom},
			"candidate 1 (\"certificate\")": {e: changed(2), candidates: wrongSource},
			"Zone: time zone \"x\"":         {e: changed(0), candidates: []automation.Candidate{{TargetDate: date(2027, 5, 1), Zone: "x"}}},
		} {
			p.set(c.candidates...)
			p.err = c.err
			got, err := w.s.HandleEvent(w.ctx, c.e)
			if err == nil || !strings.Contains(err.Error(), want) || got.Outcome != "" {
				w.t.Errorf("%v, want %q; %+v", err, want, got)
			}
		}
		if diff := cmp.Diff(before, w.rows()); diff != "" {
			w.t.Error("half-written:", diff)
		}
	})
}

// A type whose provider fails, panics or is refused holds up no other, and the same
// event makes good for it.
func TestAProviderThatFailsHoldsUpNoOtherType(t *testing.T) {
	t.Parallel()
	for name, fails := range map[string]func(p *triggers){
		"an error":  func(p *triggers) { p.err = errBoom },
		"a panic":   func(p *triggers) { p.panics = true },
		"a refusal": func(p *triggers) { p.set(automation.Candidate{TargetDate: date(2026, 5, 1), Zone: "x"}) },
	} {
		for _, version := range []int64{0, 1} {
			t.Run(fmt.Sprint(name, "/", version), func(t *testing.T) {
				eachWorld(t, func(w *world) {
					well := w.withTriggers(nil)
					well.set(offsets(date(2026, 5, 1), 30)...)
					ill := &triggers{}
					w.s.Register(certificates(func(t *automation.ReminderType) { t.Name, t.Triggers = "visit", ill }))
					fails(ill)
					got, err := w.s.HandleEvent(w.ctx, changed(version))
					if err == nil || got.Outcome != automation.EventApplied || len(got.Failed) != 1 || got.Failed[0].Type != "visit" || !errors.Is(err, got.Failed[0].Err) {
						w.t.Errorf("%+v %v", got, err)
					}
					want := map[string]string{key("2026-05-01", "30"): "Pending"}
					if diff := cmp.Diff(want, w.statuses()); diff != "" {
						w.t.Error(diff)
					}
					ill.err, ill.panics = nil, false
					ill.set(offsets(date(2026, 6, 1), 30)...)
					w.handle(changed(version))
					want["reminder:visit:employee:7:default:2026-06-01:30"] = "Pending"
					if diff := cmp.Diff(want, w.statuses()); diff != "" {
						w.t.Error(diff)
					}
				})
			})
		}
	}
}

func TestAConflictInAnEventRollsNothingBack(t *testing.T) {
	eachWorld(t, func(w *world) {
		p := w.withTriggers(nil)
		p.set(offsets(date(2026, 5, 1), 30, 7)...)
		w.handle(changed(1))
		p.set(automation.Candidate{TargetDate: date(2026, 5, 1), DaysBefore: 30, Identity: map[string]string{"course": "b"}}, automation.Candidate{TargetDate: date(2026, 5, 1), DaysBefore: 14})
		got, err := w.s.HandleEvent(w.ctx, changed(2))
		if err == nil || got.Outcome != automation.EventApplied || !slices.Equal(outcomes(got), []storage.Outcome{storage.Conflict, storage.Created}) {
			w.t.Errorf("%+v %v", got, err)
		}
		want := map[string]string{
			key("2026-05-01", "30"): "Pending held InputConflict", key("2026-05-01", "7"): "Deactivated Superseded", key("2026-05-01", "14"): "Pending",
		}
		if diff := cmp.Diff(want, w.statuses()); diff != "" {
			w.t.Error(diff)
		}
		p.set()
		w.handle(changed(3)) // a held row is open, too
		if row := w.row(key("2026-05-01", "30")); row.Status != automation.StatusDeactivated || !row.IsOnSupportHold {
			w.t.Errorf("%+v", row)
		}
	})
}

// Three events of one source at once, in any order: the newest wins.
// both listens to two kinds of events, and counts how often it was asked inside a
// transaction.
type both struct {
	*triggers
	within int
}

func (*both) EventTypes() []string { return []string{"certificate-changed", "profile-changed"} }

func (b *both) Wanted(ctx context.Context, of []automation.Request) ([]automation.Answer, error) {
	if _, ok := automation.TxOf(ctx); ok {
		b.within++
	}
	return b.triggers.Wanted(ctx, of)
}

// Two kinds of events of one source count their own versions: none makes those of the
// other old. Who listens to both is asked inside the transaction then, since the other
// may have spoken meanwhile. Events that name one stream share its count.
func TestVersionsCountInTheirStream(t *testing.T) {
	eachWorld(t, func(w *world) {
		p := &both{triggers: &triggers{}}
		w.s.Register(certificates(func(t *automation.ReminderType) { t.Triggers = p }))
		other := func(version int64, stream string) automation.Event {
			e := changed(version)
			e.Type, e.Stream = "profile-changed", stream
			return e
		}
		outcome := func(e automation.Event, want automation.EventOutcome, newest int64) {
			t.Helper()
			if got := w.handle(e); got.Outcome != want || got.SourceVersion != newest {
				t.Errorf("%s %d: %s after %d, want %s after %d", e.Type, e.Version, got.Outcome, got.SourceVersion, want, newest)
			}
		}
		p.set(offsets(date(2026, 5, 1), 30)...)
		outcome(changed(3), automation.EventApplied, 3)
		outcome(other(12, ""), automation.EventApplied, 12)
		p.set(offsets(date(2029, 5, 1), 30)...)
		asked := p.within
		outcome(changed(4), automation.EventApplied, 4)
		if p.within == asked {
			t.Error("the other stream may have spoken meanwhile, and nobody asks again")
		}
		outcome(changed(3), automation.EventStale, 4)
		outcome(other(11, ""), automation.EventStale, 12)
		outcome(other(3, "certificate-changed"), automation.EventStale, 4)
		outcome(other(5, "certificate-changed"), automation.EventApplied, 5)
		if got := w.statuses(); len(got) != 2 || got[key("2029-05-01", "30")] != automation.StatusPending {
			t.Errorf("the renewal is lost: %v", got)
		}
	})
}

func TestConcurrentEventsOfASourceEndAsTheNewest(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(func(t *automation.ReminderType) { t.Triggers = byVersion{} }))
		errs := make(chan error)
		for v := range 8 {
			go func() {
				errs <- unlessStale(w.s.HandleEvent(w.ctx, changed(int64(v+1))))
			}()
		}
		for range 8 {
			if err := <-errs; err != nil {
				w.t.Error(err)
			}
		}
		var open []string
		for k, r := range w.rows() {
			if r.IsOpen() {
				open = append(open, k)
			}
		}
		if diff := cmp.Diff([]string{key("2026-05-08", "0")}, open); diff != "" {
			w.t.Error(diff)
		}
	})
}

// byVersion wants the eighth of May of version eight.
type byVersion struct{}

func (byVersion) EventTypes() []string { return []string{"certificate-changed"} }

func (byVersion) Wanted(_ context.Context, of []automation.Request) ([]automation.Answer, error) {
	return wants(of, func(r automation.Request) []automation.Candidate {
		return offsets(date(2026, time.May, int(r.Event.Version)), 0)
	})
}
