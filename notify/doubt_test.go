package notify_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// knowing is a provider that can be asked afterwards.
type knowing struct {
	*provider
	asked  int
	knows  channel.LookupResult
	silent error
	window time.Duration
}

func (k *knowing) LookupWindow() time.Duration { return k.window }

func (k *knowing) Lookup(_ context.Context, m channel.Message) (channel.LookupResult, error) {
	if m.ID == "" || m.Attempt == 0 {
		panic("asked about nothing")
	}
	k.asked++
	return k.knows, k.silent
}

// idempotent is a provider that takes a message of one id only once.
type idempotent struct {
	*provider
	window time.Duration
}

func (i idempotent) IdempotencyWindow() time.Duration { return i.window }

// crashing has a message of a type with that policy whose worker was killed in
// the call, and the lease has run out; channels replace the host's.
func (h *host) crashing(policy notify.InDoubt, channel channel.Channel) {
	h.t.Helper()
	h.Notifier = notify.New(h.store, &notify.Options{Logger: quiet}, channel)
	h.Register(notify.Type{Name: "visit", Renderer: visitTemplate, InDoubt: policy})
	h.waiting()
	h.dieCalling()
	h.clk.Add(lease)
}

// settle drains and lets time pass until nothing is due any more.
func (h *host) settle() {
	h.t.Helper()
	h.drain()
	for range 20 {
		m := only(h, notify.Messages)
		if m.DueOn.IsZero() {
			return
		}
		h.clk.Set(m.DueOn)
		h.drain()
	}
	h.t.Fatal("the message never comes to rest")
}

func TestI12_WhatIsInDoubtIsVisibleAndThenHeldAndListed(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.crashing("", h.provider)
		h.run("notify.distributor")
		m := h.status(notify.StatusOutcomeUnknown)
		if m.IsOnSupportHold || !m.DueOn.Equal(h.clk.Now()) || m.CallStartedOn.IsZero() || m.Doubts != 1 || m.ReasonCode != reasons.LeaseLost {
			t.Fatalf("message is %+v", m)
		}
		h.drain()
		m = h.status(notify.StatusOutcomeUnknown)
		h.same("hold", driver.SupportHold{IsOnSupportHold: true, HoldReason: reasons.OutcomeUnknown}, m.SupportHold)
		if !m.DueOn.IsZero() || m.Resolution != notify.ResolvedByHold {
			t.Errorf("message is %+v", m)
		}
		held, _, err := h.Support().Held(t.Context(), "tenant", reasons.OutcomeUnknown, storage.Page{})
		if err != nil || len(held) != 1 || held[0].MessageID != m.MessageID {
			t.Errorf("held: %v, %v", held, err)
		}
		if n := len(h.sent()); n != 0 {
			t.Errorf("%d calls", n)
		}
	})
}

// I-11: what was only assumed is recorded as that.
func TestI11_AssumeSentIsRecordedAsAnAssumption(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.crashing(notify.AssumeSent, h.provider)
		h.drain()
		m := h.status(notify.StatusSentToProvider)
		if m.Resolution != notify.ResolvedByAssumption || !m.ResolvedOn.Equal(h.clk.Now()) || !m.SentOn.Equal(storetest.Start) || m.ProviderMessageID != "" || !m.DueOn.IsZero() {
			t.Errorf("message is %+v", m)
		}
		if n := len(h.sent()); n != 0 {
			t.Errorf("%d calls", n)
		}
	})
}

// A provider that never answers is not called without end.
func TestResendIsLimitedAndThenAPersonDecides(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.answer = failing(io.EOF)
		h.crashing(notify.Resend, h.provider)
		h.settle()
		m := h.status(notify.StatusOutcomeUnknown)
		h.same("hold", driver.SupportHold{IsOnSupportHold: true, HoldReason: reasons.OutcomeUnknown}, m.SupportHold)
		if n := len(h.sent()); n != 4 { // once at once, then after 5 min, 15 min, 1 h
			t.Errorf("%d calls", n)
		}
	})
}

func TestTheProviderIsAskedFirst(t *testing.T) {
	for name, c := range map[string]struct {
		knows  channel.LookupResult
		status string
		calls  int
		id     string
		how    notify.Resolution
	}{
		"accepted": {channel.LookupResult{Status: channel.LookupAccepted, Receipt: channel.Receipt{ID: "p1"}}, notify.StatusSentToProvider, 0, "p1", notify.ResolvedByLookup},
		"absent":   {channel.LookupResult{Status: channel.LookupAbsent}, notify.StatusSentToProvider, 1, "accepted", notify.ResolvedAsAbsent},
	} {
		t.Run(name, func(t *testing.T) {
			visits(t, func(t *testing.T, h *host) {
				k := &knowing{provider: h.provider, knows: c.knows}
				h.crashing(notify.Hold, k)
				h.drain()
				m := h.status(c.status)
				if len(h.sent()) != c.calls || k.asked != 1 || m.ProviderMessageID != c.id || m.Resolution != c.how {
					t.Errorf("%d calls, asked %d times: %+v", len(h.sent()), k.asked, m)
				}
			})
		})
	}
}

// A provider that cannot tell is asked again after 1, 5 and 15 minutes; only
// then the policy decides.
func TestAProviderThatCannotTellIsAskedFourTimes(t *testing.T) {
	for name, silent := range map[string]error{"unknown": nil, "error": errors.New("away")} {
		t.Run(name, func(t *testing.T) {
			visits(t, func(t *testing.T, h *host) {
				k := &knowing{provider: h.provider, silent: silent}
				h.crashing(notify.Resend, k)
				for i, wait := range []time.Duration{time.Minute, 5 * time.Minute, 15 * time.Minute} {
					h.drain()
					m := h.status(notify.StatusOutcomeUnknown)
					if k.asked != i+1 || m.DueOn.Sub(h.clk.Now()) != wait {
						t.Fatalf("asked %d times, waits %v", k.asked, m.DueOn.Sub(h.clk.Now()))
					}
					h.clk.Set(m.DueOn)
				}
				h.drain()
				h.status(notify.StatusSentToProvider)
				if k.asked != 4 || len(h.sent()) != 1 {
					t.Errorf("asked %d times, %d calls", k.asked, len(h.sent()))
				}
			})
		})
	}
}

// A call that the provider never has, time and again, is tried for as long as the message
// is valid.
func TestAMessageThatNeverArrivesExpiresInTheEnd(t *testing.T) {
	visitsInMemory(t, func(h *host) {
		h.answer = failing(io.EOF)
		h.crashing(notify.Hold, &knowing{provider: h.provider, knows: channel.LookupResult{Status: channel.LookupAbsent}})
		for range 400 {
			h.drain()
			m := only(h, notify.Messages)
			if m.DueOn.IsZero() {
				break
			}
			h.clk.Set(latest(m.DueOn, h.clk.Now()))
			h.clk.Add(time.Minute) // its account may be probed only
		}
		if m := h.status(notify.StatusExpired); m.ReasonCode != reasons.TooLate || m.IsOnSupportHold || len(h.sent()) < 100 {
			h.t.Errorf("%d calls: %+v", len(h.sent()), m)
		}
	})
}

// Workers that die before the call arrives, time and again, have refused
// nothing: a person decides.
func TestAMessageWhoseWorkersKeepDyingIsHeld(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.crashing(notify.Hold, &knowing{provider: h.provider, knows: channel.LookupResult{Status: channel.LookupAbsent}})
		for range 5 {
			h.run("notify.distributor") // takes over
			h.run("notify.resolve")
			m := only(h, notify.Messages)
			if m.IsOnSupportHold {
				break
			}
			h.clk.Set(latest(m.DueOn, h.clk.Now()))
			h.dieCalling()
			h.clk.Add(lease)
		}
		m := h.status(notify.StatusRetryReady)
		h.same("hold", driver.SupportHold{IsOnSupportHold: true, HoldReason: reasons.RetriesExhausted}, m.SupportHold)
		if err := h.Support().Release(t.Context(), "tenant", notify.ArtifactOutgoingMessage, m.Key, support); err != nil {
			t.Fatal(err)
		}
		h.drain()
		h.status(notify.StatusSentToProvider)
	})
}

func TestAnIdempotentProviderIsCalledAgainInsideItsWindow(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.crashing(notify.Hold, idempotent{h.provider, time.Hour})
		h.drain()
		m := h.status(notify.StatusSentToProvider)
		if sent := h.sent(); len(sent) != 1 || sent[0].ID != m.MessageID || m.Resolution != notify.ResolvedByIdempotency {
			t.Errorf("message is %+v", m)
		}
	})
}

func TestAnIdempotentProviderIsNotCalledOutsideItsWindow(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.crashing(notify.Hold, idempotent{h.provider, lease})
		h.drain()
		if m := h.status(notify.StatusOutcomeUnknown); !m.IsOnSupportHold || !m.IdempotentUntil.IsZero() || len(h.sent()) != 0 {
			t.Errorf("%d calls: %+v", len(h.sent()), m)
		}
	})
}

// The repeat was allowed inside the window, but nobody came by until it was over.
func TestARepeatThatComesTooLateIsInDoubtAgain(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.crashing(notify.Hold, idempotent{h.provider, time.Hour})
		h.run("notify.distributor")
		h.run("notify.resolve")
		m := h.status(notify.StatusRetryReady)
		if !m.IdempotentUntil.Equal(storetest.Start.Add(time.Hour)) {
			t.Fatalf("window ends %v", m.IdempotentUntil)
		}
		h.clk.Set(m.IdempotentUntil)
		h.run("notify.distributor")
		if m := h.status(notify.StatusOutcomeUnknown); m.ReasonCode != reasons.IdempotencyWindowOver || len(h.sent()) != 0 {
			t.Fatalf("%d calls: %+v", len(h.sent()), m)
		}
		h.drain()
		if m := h.status(notify.StatusOutcomeUnknown); !m.IsOnSupportHold {
			t.Errorf("message is %+v", m)
		}
	})
}

// The send pass may take over a row whose resolver has died. It stays in doubt.
func TestADeadResolverLeavesTheMessageInDoubt(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.crashing(notify.Hold, h.provider)
		h.run("notify.distributor")
		h.claim([]string{notify.StatusOutcomeUnknown}, "")
		h.clk.Add(lease)
		for _, pass := range []string{"notify.distributor", "notify.resolve"} {
			h.run(pass)
			h.status(notify.StatusOutcomeUnknown)
		}
		h.drain()
		if m := h.status(notify.StatusOutcomeUnknown); !m.IsOnSupportHold || len(h.sent()) != 0 {
			t.Errorf("%d calls: %+v", len(h.sent()), m)
		}
	})
}

func TestAResolverThatPanicsIsAskedAgain(t *testing.T) {
	visitsInMemory(t, func(h *host) {
		h.crashing(notify.Hold, panicking{h.provider})
		h.drain()
		if m := h.status(notify.StatusOutcomeUnknown); m.Lookups != 1 || m.DueOn.Sub(h.clk.Now()) != time.Minute {
			t.Errorf("message is %+v", m)
		}
	})
}

type panicking struct{ *provider }

func (panicking) LookupWindow() time.Duration { return 0 }

func (panicking) Lookup(context.Context, channel.Message) (channel.LookupResult, error) {
	panic("look-up")
}

// The type's policy is copied when the message is ensured: a later release of
// the program that declares another one changes nothing for it.
func TestThePolicyIsTheOneDeclaredWhenTheMessageWasEnsured(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.crashing(notify.Hold, h.provider)
		h.Notifier = notify.New(h.store, nil, h.provider)
		h.Register(notify.Type{Name: "visit", Renderer: visitTemplate, InDoubt: notify.Resend})
		h.drain()
		if m := h.status(notify.StatusOutcomeUnknown); !m.IsOnSupportHold || len(h.sent()) != 0 {
			t.Errorf("%d calls: %+v", len(h.sent()), m)
		}
	})
}

// A shutdown in the middle of a look-up counts nothing.
func TestAnInterruptedLookupIsNotCounted(t *testing.T) {
	visitsInMemory(t, func(h *host) {
		k := &knowing{provider: h.provider, silent: context.Canceled}
		h.crashing(notify.Hold, k)
		h.run("notify.distributor")
		m := h.claim([]string{notify.StatusOutcomeUnknown}, "")[0]
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if err := h.ResolveAll(t.Context(), notify.Sending{Row: m, Ctx: ended, Lease: lease}); err != nil {
			t.Fatal(err)
		}
		if m.Lookups != 0 || !m.DueOn.Equal(driver.Now(h.store)) {
			t.Errorf("message is %+v", m)
		}
	})
}
