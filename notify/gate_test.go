package notify_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/gate"
	"github.com/belfry-go/belfry/storage"
)

// oneGate are options with one gate of the host.
func oneGate(g notify.Gate) func(storage.Store) *notify.Options {
	return func(storage.Store) *notify.Options { return &notify.Options{Gates: []notify.Gate{g}} }
}

func TestWhatAGateDefersWaitsAndWhatItSkipsEnds(t *testing.T) {
	answer := func(a notify.Attempt) notify.Verdict {
		switch {
		case a.RecipientRef == "late" && a.Now.Minute() == 0:
			return notify.Defer(a.Now.Add(time.Minute), "NotYet")
		case a.RecipientRef == "never":
			return notify.Skip("NotAtAll")
		}
		return notify.Proceed()
	}
	gated(t, oneGate(notify.GateFunc(func(_ context.Context, a notify.Attempt) (notify.Verdict, error) { return answer(a), nil })), func(t *testing.T, h *host) {
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

// What a gate lets wait is revalidated before it goes out.
func TestADeferredMessageGoesOutOnlyIfItIsStillWanted(t *testing.T) {
	first := true
	gatedInMemory(t, oneGate(notify.GateFunc(func(_ context.Context, a notify.Attempt) (notify.Verdict, error) {
		if first {
			first = false
			return notify.Defer(a.Now.Add(time.Hour), "NotYet"), nil
		}
		return notify.Proceed(), nil
	})), func(h *host) {
		h.Register(notify.Type{Name: "asked", Renderer: visitTemplate, Revalidator: notify.RevalidatorFunc(func(context.Context, notify.Job) (notify.Verdict, error) {
			return notify.Skip("Cancelled"), nil
		})})
		job := visit("7", person("sam"))
		job.Type = "asked"
		h.dispatch(job)
		h.drain()
		h.nextTry()
		if m := h.status(notify.StatusSkipped); m.ReasonCode != "Cancelled" || len(h.sent()) != 0 {
			t.Errorf("message is %+v", m)
		}
	})
}

//spec:f-021
func TestAGateThatFailsLetsNothingThrough(t *testing.T) {
	for name, g := range map[string]notify.Gate{
		"an error": notify.GateFunc(func(context.Context, notify.Attempt) (notify.Verdict, error) {
			return notify.Proceed(), errors.New("away")
		}),
		"a panic":          notify.GateFunc(func(context.Context, notify.Attempt) (notify.Verdict, error) { panic("sam@example.com") }),
		"too few verdicts": silentGate{},
		"an unknown action": notify.GateFunc(func(context.Context, notify.Attempt) (notify.Verdict, error) {
			return notify.Verdict{Action: "Perhaps"}, nil
		}),
	} {
		t.Run(name, func(t *testing.T) {
			gated(t, oneGate(g), func(t *testing.T, h *host) {
				h.ensure(letter("a", "sam"))
				for i := range 3 {
					h.drain()
					if m := h.row("a"); m.Status != notify.StatusRetryReady || m.ReasonCode != notify.ReasonGateFailed || m.RetryCount != i+1 || m.Calls != 0 {
						t.Fatalf("message is %+v", m)
					}
					h.clk.Set(h.row("a").DueOn)
				}
				h.drain()
				h.same("hold", notify.SupportHold{true, notify.HoldRetries}, h.row("a").SupportHold)
				if n := len(h.sent()); n != 0 {
					t.Errorf("%d calls", n)
				}
			})
		})
	}
}

type silentGate struct{}

func (silentGate) Ask(context.Context, []notify.Attempt) ([]notify.Verdict, error) { return nil, nil }

func TestAGateIsAskedOnlyAboutWhatThoseBeforeItLetThrough(t *testing.T) {
	var asked []string
	let := func(label string, stop string) notify.Gate {
		return asks{label, &asked, func(a notify.Attempt) (notify.Verdict, error) {
			if a.RecipientRef == stop {
				return notify.Skip("stopped"), nil
			}
			return notify.Proceed(), nil
		}}
	}
	gatedInMemory(t, func(storage.Store) *notify.Options {
		return &notify.Options{Gates: []notify.Gate{let("first", "sam"), let("second", "kim"), let("third", "")}}
	}, func(h *host) {
		h.ensure(letter("a", "sam"), letter("b", "kim"), letter("c", "ann"))
		h.drain()
		h.same("asked", "first first first second second third", strings.Join(asked, " "))
		h.same("sent", map[string]int{"c": 1}, h.texts())
	})
}

//spec:f-021
func TestTheBuiltInGatesStandInTheirOrder(t *testing.T) {
	visitsInMemory(t, func(h *host) {
		var names []string
		for _, g := range gate.New(h.store, &gate.Options{
			Guard: &gate.Guard{}, Caps: []gate.Cap{{Limit: 1, Per: time.Hour}},
			Window: &gate.Window{From: "08:00", To: "20:00"}, Rates: []gate.Rate{{Channel: channelKey, Limit: 1, Per: time.Second}},
		}) {
			names = append(names, notify.GateName(g))
		}
		h.same("gates", "environment, recipients, pauses, suppression, preferences, frequency, send window, rate", strings.Join(names, ", "))
		h.same("without options", 4, len(gate.New(h.store, nil)))
	})
}

// A gate sees what it has to decide about, and the number of the call.
func TestAnAttemptSaysWhatTheGateHasToKnow(t *testing.T) {
	var seen []notify.Attempt
	gatedInMemory(t, oneGate(notify.GateFunc(func(_ context.Context, a notify.Attempt) (notify.Verdict, error) {
		seen = append(seen, a)
		return notify.Proceed(), nil
	})), func(h *host) {
		h.Register(notify.Type{Name: "alarm", Mandatory: true, Urgent: true})
		h.answer = failing(notify.Transient("busy", 0, nil))
		h.ensure(letter("a", "sam", func(m *notify.OutgoingMessage) {
			m.NotificationType, m.BusinessUnit, m.Zone = "alarm", "north", "Europe/Berlin"
		}))
		h.drain()
		m := h.row("a")
		h.clk.Set(m.DueOn)
		h.drain()
		want := notify.Attempt{
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
	for name, reserved := range map[string]int{"before the gates": 0, "between two gates": 5, "after the gates": 6} {
		t.Run(name, func(t *testing.T) {
			gated(t, with(limits), func(t *testing.T, h *host) {
				h.ensure(letter("a", "sam"))
				rows := h.claim([]string{notify.StatusCreated}, notify.StatusSending)
				for _, g := range h.AskedGates()[:reserved] {
					if v, err := g.Ask(t.Context(), []notify.Attempt{h.AttemptOf(rows[0])}); err != nil || v[0].Action != notify.ActionProceed {
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
				h.same("one too many for sam", notify.ReasonFrequencyCap, h.row("b").ReasonCode)
				h.same("one too many for the channel", notify.ReasonRateLimit, h.row("c").ReasonCode)
			})
		})
	}
}
