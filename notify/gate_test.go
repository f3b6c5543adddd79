package notify

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/belfry-go/belfry/storage"
)

// oneGate are options with one gate of the host.
func oneGate(g Gate) func(storage.Store) *Options {
	return func(storage.Store) *Options { return &Options{Gates: []Gate{g}} }
}

func TestWhatAGateDefersWaitsAndWhatItSkipsEnds(t *testing.T) {
	answer := func(a Attempt) Verdict {
		switch {
		case a.RecipientRef == "late" && a.Now.Minute() == 0:
			return Defer(a.Now.Add(time.Minute), "NotYet")
		case a.RecipientRef == "never":
			return Skip("NotAtAll")
		}
		return Proceed()
	}
	gated(t, oneGate(GateFunc(func(_ context.Context, a Attempt) (Verdict, error) { return answer(a), nil })), func(t *testing.T, h *host) {
		h.ensure(letter("a", "late"), letter("b", "never"), letter("c", "sam"))
		h.drain()
		h.same("sent", map[string]int{"c": 1}, h.texts())
		if m := h.row("a"); m.Status != StatusRetryReady || m.ReasonCode != "NotYet" || m.RetryCount != 0 || m.Calls != 0 || !m.DueOn.Equal(h.clk.Now().Add(time.Minute)) {
			t.Errorf("deferred: %+v", m)
		}
		if m := h.row("b"); m.Status != StatusSkipped || m.ReasonCode != "NotAtAll" || !m.DueOn.IsZero() || m.EndedOn.IsZero() {
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

// What a gate lets wait is revalidated before it goes out.
func TestADeferredMessageGoesOutOnlyIfItIsStillWanted(t *testing.T) {
	first := true
	gatedInMemory(t, oneGate(GateFunc(func(_ context.Context, a Attempt) (Verdict, error) {
		if first {
			first = false
			return Defer(a.Now.Add(time.Hour), "NotYet"), nil
		}
		return Proceed(), nil
	})), func(h *host) {
		h.Register(Type{Name: "asked", Renderer: visitTemplate, Revalidator: RevalidatorFunc(func(context.Context, Job) (Verdict, error) {
			return Skip("Cancelled"), nil
		})})
		job := visit("7", person("sam"))
		job.Type = "asked"
		h.dispatch(job)
		h.drain()
		h.nextTry()
		if m := h.status(StatusSkipped); m.ReasonCode != "Cancelled" || len(h.sent()) != 0 {
			t.Errorf("message is %+v", m)
		}
	})
}

func TestAGateThatFailsLetsNothingThrough(t *testing.T) {
	for name, g := range map[string]Gate{
		"an error":          GateFunc(func(context.Context, Attempt) (Verdict, error) { return Proceed(), errors.New("away") }),
		"a panic":           GateFunc(func(context.Context, Attempt) (Verdict, error) { panic("sam@example.com") }),
		"too few verdicts":  silentGate{},
		"an unknown action": GateFunc(func(context.Context, Attempt) (Verdict, error) { return Verdict{Action: "Perhaps"}, nil }),
	} {
		t.Run(name, func(t *testing.T) {
			gated(t, oneGate(g), func(t *testing.T, h *host) {
				h.ensure(letter("a", "sam"))
				for i := range 3 {
					h.drain()
					if m := h.row("a"); m.Status != StatusRetryReady || m.ReasonCode != ReasonGateFailed || m.RetryCount != i+1 || m.Calls != 0 {
						t.Fatalf("message is %+v", m)
					}
					h.clk.Set(h.row("a").DueOn)
				}
				h.drain()
				h.same("hold", SupportHold{true, HoldRetries}, h.row("a").SupportHold)
				if n := len(h.sent()); n != 0 {
					t.Errorf("%d calls", n)
				}
			})
		})
	}
}

type silentGate struct{}

func (silentGate) Ask(context.Context, []Attempt) ([]Verdict, error) { return nil, nil }

func TestAGateIsAskedOnlyAboutWhatThoseBeforeItLetThrough(t *testing.T) {
	var asked []string
	let := func(label string, stop string) Gate {
		return asks{label, &asked, func(a Attempt) (Verdict, error) {
			if a.RecipientRef == stop {
				return Skip("stopped"), nil
			}
			return Proceed(), nil
		}}
	}
	gatedInMemory(t, func(storage.Store) *Options {
		return &Options{Gates: []Gate{let("first", "sam"), let("second", "kim"), let("third", "")}}
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
		for _, g := range Gates(h.store, &GateOptions{
			Recipients: &RecipientGuard{}, Caps: []FrequencyCap{{Limit: 1, Per: time.Hour}},
			Window: &SendWindow{From: "08:00", To: "20:00"}, Rates: []RateLimit{{Channel: channelKey, Limit: 1, Per: time.Second}},
		}) {
			names = append(names, gateName(g))
		}
		h.same("gates", "environment, recipients, pauses, suppression, preferences, frequency, send window, rate", strings.Join(names, ", "))
		h.same("without options", 4, len(Gates(h.store, nil)))
	})
}

// A gate sees what it has to decide about, and the number of the call.
func TestAnAttemptSaysWhatTheGateHasToKnow(t *testing.T) {
	var seen []Attempt
	gatedInMemory(t, oneGate(GateFunc(func(_ context.Context, a Attempt) (Verdict, error) {
		seen = append(seen, a)
		return Proceed(), nil
	})), func(h *host) {
		h.Register(Type{Name: "alarm", Mandatory: true, Urgent: true})
		h.answer = failing(Transient("busy", 0, nil))
		h.ensure(letter("a", "sam", func(m *OutgoingMessage) {
			m.NotificationType, m.BusinessUnit, m.Zone = "alarm", "north", "Europe/Berlin"
		}))
		h.drain()
		m := h.row("a")
		h.clk.Set(m.DueOn)
		h.drain()
		want := Attempt{
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
	limits := GateOptions{Caps: []FrequencyCap{{Limit: 1, Per: 24 * time.Hour}}, Rates: []RateLimit{{Channel: channelKey, Limit: 1, Per: time.Hour}}}
	for name, reserved := range map[string]int{"before the gates": 0, "between two gates": 5, "after the gates": 6} {
		t.Run(name, func(t *testing.T) {
			gated(t, with(limits), func(t *testing.T, h *host) {
				h.ensure(letter("a", "sam"))
				rows := h.claim([]string{StatusCreated}, StatusSending)
				for _, g := range h.gates[:reserved] {
					if v, err := g.Ask(t.Context(), []Attempt{h.attempt(rows[0])}); err != nil || v[0].Action != ActionProceed {
						t.Fatal(v, err)
					}
				}
				h.clk.Add(lease)
				h.drain()
				h.drain()
				if m := h.row("a"); m.Status != StatusSentToProvider || m.Doubts != 0 || len(h.sent()) != 1 {
					t.Fatalf("message is %+v", m)
				}
				h.ensure(letter("b", "sam"), letter("c", "kim"))
				h.drain()
				h.same("one too many for sam", ReasonFrequencyCap, h.row("b").ReasonCode)
				h.same("one too many for the channel", ReasonRateLimit, h.row("c").ReasonCode)
			})
		})
	}
}
