package notify_test

import (
	"context"
	"errors"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage/driver"
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/gate"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
)

// oneGate are options with one gate of the host.
func oneGate(g gate.Gate) func(storage.Store) *notify.Options {
	return func(storage.Store) *notify.Options { return &notify.Options{Gates: []gate.Gate{g}} }
}

func TestWhatAGateDefersWaitsAndWhatItSkipsEnds(t *testing.T) {
	answer := func(a gate.Attempt) gate.Verdict {
		switch {
		case a.RecipientRef == "late" && a.Now.Minute() == 0:
			return gate.Defer(a.Now.Add(time.Minute), "NotYet")
		case a.RecipientRef == "never":
			return gate.Skip("NotAtAll")
		}
		return gate.Proceed()
	}
	gated(t, oneGate(gate.Func(func(_ context.Context, a gate.Attempt) (gate.Verdict, error) { return answer(a), nil })), func(t *testing.T, h *host) {
		h.ensure(letter("a", "late"), letter("b", "never"), letter("c", "sam"))
		h.drain()
		h.same("sent", map[string]int{"c": 1}, h.texts())
		if m := h.row("a"); m.Status != notify.StatusRetryReady || m.ReasonCode != "NotYet" || m.RetryCount != 0 || m.Calls != 0 || !m.DueOn.Equal(h.clk.Now().Add(time.Minute)) {
			t.Errorf("deferred: %+v", m)
		}
		if m := h.row("b"); m.Status != notify.StatusSkipped || m.ReasonCode != "NotAtAll" || !m.DueOn.IsZero() || m.EndedOn.IsZero() {
			t.Errorf("skipped: %+v", m)
		}
		h.clk.Add(time.Minute)
		h.drain()
		h.same("sent", map[string]int{"a": 1, "c": 1}, h.texts())
		if m := h.row("a"); m.ReasonCode != "" {
			t.Errorf("reason of a message that was sent is %s", m.ReasonCode)
		}
	})
}

func TestAGateThatFailsLetsNothingThrough(t *testing.T) {
	for name, g := range map[string]gate.Gate{
		"an error": gate.Func(func(context.Context, gate.Attempt) (gate.Verdict, error) {
			return gate.Proceed(), errors.New("away")
		}),
		"a panic":          gate.Func(func(context.Context, gate.Attempt) (gate.Verdict, error) { panic("sam@example.com") }),
		"too few verdicts": silentGate{},
		"an unknown action": gate.Func(func(context.Context, gate.Attempt) (gate.Verdict, error) {
			return gate.Verdict{Action: "Perhaps"}, nil
		}),
	} {
		t.Run(name, func(t *testing.T) {
			gated(t, oneGate(g), func(t *testing.T, h *host) {
				h.ensure(letter("a", "sam"))
				for i := range 3 {
					h.drain()
					if m := h.row("a"); m.Status != notify.StatusRetryReady || m.ReasonCode != reasons.GateFailed || m.RetryCount != i+1 || m.Calls != 0 {
						t.Fatalf("message is %+v", m)
					}
					h.clk.Set(h.row("a").DueOn)
				}
				h.drain()
				h.same("hold", driver.SupportHold{IsOnSupportHold: true, HoldReason: reasons.RetriesExhausted}, h.row("a").SupportHold)
				if n := len(h.sent()); n != 0 {
					t.Errorf("%d calls", n)
				}
			})
		})
	}
}

type silentGate struct{}

func (silentGate) Ask(context.Context, []gate.Attempt) ([]gate.Verdict, error) { return nil, nil }

func TestAGateIsAskedOnlyAboutWhatThoseBeforeItLetThrough(t *testing.T) {
	var asked []string
	let := func(label string, stop string) gate.Gate {
		return asks{label, &asked, func(a gate.Attempt) (gate.Verdict, error) {
			if a.RecipientRef == stop {
				return gate.Skip("stopped"), nil
			}
			return gate.Proceed(), nil
		}}
	}
	gatedInMemory(t, func(storage.Store) *notify.Options {
		return &notify.Options{Gates: []gate.Gate{let("first", "sam"), let("second", "kim"), let("third", "")}}
	}, func(h *host) {
		h.ensure(letter("a", "sam"), letter("b", "kim"), letter("c", "ann"))
		h.drain()
		h.same("asked", "first first first second second third", strings.Join(asked, " "))
		h.same("sent", map[string]int{"c": 1}, h.texts())
	})
}

func TestTheBuiltInGatesStandInTheirOrder(t *testing.T) {
	visitsInMemory(t, func(h *host) {
		var names []string
		for _, g := range gate.New(h.store, &gate.Options{
			Guard: &gate.Guard{}, Caps: []gate.Cap{{Limit: 1, Per: time.Hour}},
			Window: &gate.Window{From: "08:00", To: "20:00"}, Rates: []gate.Rate{{Channel: channelKey, Limit: 1, Per: time.Second}},
		}) {
			names = append(names, notify.GateName(g))
		}
		h.same("gates", "recipients, frequency, send window, rate", strings.Join(names, ", "))
		h.same("without options", 0, len(gate.New(h.store, nil)))
	})
}

// A gate sees what it has to decide about, and the number of the call.
func TestAnAttemptSaysWhatTheGateHasToKnow(t *testing.T) {
	var seen []gate.Attempt
	gatedInMemory(t, oneGate(gate.Func(func(_ context.Context, a gate.Attempt) (gate.Verdict, error) {
		seen = append(seen, a)
		return gate.Proceed(), nil
	})), func(h *host) {
		h.Register(notify.Type{Name: "alarm", Mandatory: true, Urgent: true})
		h.answer = failing(channel.Transient("busy", 0, nil))
		h.ensure(letter("a", "sam", func(m *notify.OutgoingMessage) {
			m.NotificationType, m.BusinessUnit, m.Zone = "alarm", "north", "Europe/Berlin"
		}))
		h.drain()
		m := h.row("a")
		h.clk.Set(m.DueOn)
		h.drain()
		want := gate.Attempt{
			Scope: "tenant", MessageID: m.MessageID, Number: 1, NotificationType: "alarm", BusinessUnit: "north", Channel: channelKey, Method: "email",
			RecipientRef: "sam", RecipientHash: m.RecipientHash, Address: "sam@example.com", Zone: "Europe/Berlin",
			Lane: storage.LaneUrgent, Mandatory: true, Urgent: true, Now: seen[0].Now,
		}
		h.same("first attempt", want, seen[0])
		if len(seen) != 2 || seen[1].Number != 2 {
			t.Errorf("asked about %+v", seen)
		}
	})
}

// I-10: a worker that dies in a gate, or between the gates and the call, leaves
// nothing in doubt, and what was reserved counts once.
func TestI10_ACrashBeforeTheCallIsNeverInDoubtAndCountsOnce(t *testing.T) {
	limits := gate.Options{Caps: []gate.Cap{{Limit: 1, Per: 24 * time.Hour}}, Rates: []gate.Rate{{Channel: channelKey, Limit: 1, Per: time.Hour}}}
	for name, reserved := range map[string]int{"before the gates": 0, "between two gates": 3, "after the gates": 4} {
		t.Run(name, func(t *testing.T) {
			gated(t, with(limits), func(t *testing.T, h *host) {
				h.ensure(letter("a", "sam"))
				rows := h.claim([]string{notify.StatusCreated}, notify.StatusSending)
				for _, g := range h.AskedGates()[:reserved] {
					if v, err := g.Ask(t.Context(), []gate.Attempt{h.AttemptOf(rows[0])}); err != nil || v[0].Action != gate.ActionProceed {
						t.Fatal(v, err)
					}
				}
				h.clk.Add(lease)
				h.drain()
				h.drain()
				if m := h.row("a"); m.Status != notify.StatusSentToProvider || m.Doubts != 0 || len(h.sent()) != 1 {
					t.Fatalf("message is %+v", m)
				}
				h.ensure(letter("b", "sam"), letter("c", "kim"))
				h.drain()
				h.same("one too many for sam", reasons.FrequencyCap, h.row("b").ReasonCode)
				h.same("one too many for the channel", reasons.RateLimit, h.row("c").ReasonCode)
			})
		})
	}
}

// Whatever gates a host has configured, or none.
func TestSuppressionsAndOptOutsHoldWithoutAnyGates(t *testing.T) {
	t.Parallel()
	for name, gates := range map[string]func(storage.Store) []gate.Gate{
		"none": func(storage.Store) []gate.Gate { return nil },
		"a host's own": func(storage.Store) []gate.Gate {
			return []gate.Gate{gate.Func(func(context.Context, gate.Attempt) (gate.Verdict, error) { return gate.Proceed(), nil })}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storetest.Each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
				h := newGated(t, store, clk, &notify.Options{Gates: gates(store)})
				if err := h.Contacts().Suppress(t.Context(), "tenant", channel.HardBounce, support, gone); err != nil {
					t.Fatal(err)
				}
				h.prefers(notify.Preference{Scope: "tenant", RecipientRef: "kim", OptedOut: true})
				h.ensure(letter("a", "gone"), letter("b", "kim"), letter("c", "sam"))
				h.drain()
				h.same("sent", map[string]int{"c": 1}, h.texts())
				h.same("gone", reasons.Suppressed, h.row("a").ReasonCode)
				h.same("kim", reasons.OptedOut, h.row("b").ReasonCode)
			})
		})
	}
}

// gated runs a test on every adapter with a host that has those options.
func gated(t *testing.T, options func(storage.Store) *notify.Options, test func(t *testing.T, h *host)) {
	t.Helper()
	t.Parallel()
	storetest.Each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		test(t, newGated(t, store, clk, options(store)))
	})
}

// gatedInMemory is for stories in which the adapter plays no part.
func gatedInMemory(t *testing.T, options func(storage.Store) *notify.Options, test func(h *host)) {
	t.Helper()
	t.Parallel()
	clk := clock.NewMock()
	clk.Set(storetest.Start)
	store := memory.New(&memory.Options{Clock: clk})
	test(newGated(t, store, clk, options(store)))
}

func newGated(t *testing.T, store storage.Store, clk *clock.Mock, o *notify.Options) *host {
	p := &provider{}
	o.Logger = quiet
	h := &host{Notifier: notify.New(store, o, p), store: store, t: t, clk: clk, provider: p}
	h.Register(notify.Type{Name: "visit", Renderer: visitTemplate})
	return h
}

// with makes options with the built-in gates.
func with(o gate.Options) func(storage.Store) *notify.Options {
	return func(store storage.Store) *notify.Options { return &notify.Options{Gates: gate.New(store, &o)} }
}

// letter is one that EnsureOutgoingMessage takes.
func letter(id, recipient string, change ...func(*notify.OutgoingMessage)) notify.OutgoingMessage {
	m := notify.OutgoingMessage{
		Scope: "tenant", Channel: channelKey, PartitionKey: id, NotificationType: "visit",
		RecipientRef: recipient, Address: recipient + "@example.com", Content: notify.Content{Text: id},
	}
	for _, c := range change {
		c(&m)
	}
	return m
}

func (h *host) ensure(want ...notify.OutgoingMessage) {
	h.t.Helper()
	if _, err := h.EnsureOutgoingMessage(h.t.Context(), nil, want...); err != nil {
		h.t.Fatal(err)
	}
}

// texts are what was sent so far, by the text that says which message it was.
func (h *host) texts() map[string]int {
	out := map[string]int{}
	for _, m := range h.sent() {
		out[m.Text]++
	}
	return out
}

// row is the message with that text.
func (h *host) row(text string) *notify.MessageRow {
	h.t.Helper()
	for _, m := range all(h, notify.Messages) {
		if m.Content.Text == text {
			return m
		}
	}
	h.t.Fatalf("no message %q", text)
	return nil
}

// asks is a gate that notes what it is asked and answers as told.
type asks struct {
	label   string
	asked   *[]string
	answers func(a gate.Attempt) (gate.Verdict, error)
}

func (g asks) Ask(_ context.Context, a []gate.Attempt) ([]gate.Verdict, error) {
	out := make([]gate.Verdict, len(a))
	for i := range a {
		*g.asked = append(*g.asked, g.label)
		v, err := g.answers(a[i])
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, nil
}

func attemptOf(id, recipient string, now time.Time) gate.Attempt {
	return gate.Attempt{
		Scope: "tenant", MessageID: id, Number: 1, NotificationType: "visit", Channel: channelKey, Method: "email",
		RecipientRef: recipient, RecipientHash: "hash of " + recipient, Address: recipient + "@example.com", Now: now,
	}
}
