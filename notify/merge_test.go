package notify_test

import (
	"context"
	"github.com/belfry-go/belfry/storage/driver"
	"testing"
	"time"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
)

// late is a call that returns after its claim was lost: while it runs, another
// process takes the message over and settles the doubt; then it gives answer.
func late(h *host, policy notify.InDoubt, answer func() (channel.Receipt, error)) {
	h.t.Helper()
	h.Notifier = notify.New(h.store, &notify.Options{Logger: quiet}, h.provider)
	h.Register(notify.Type{Name: "visit", Renderer: visitTemplate, InDoubt: policy})
	h.waiting()
	other := newHost(h.t, h.store, h.clk, h.provider, h.provider)
	other.Register(notify.Type{Name: "visit", Renderer: visitTemplate, InDoubt: policy})
	h.answer = func(context.Context, channel.Message) (channel.Receipt, error) {
		h.clk.Add(lease)
		other.run("notify.distributor") // takes over
		other.run("notify.resolve")     // applies the policy
		return answer()
	}
	h.run("notify.distributor")
	h.answer = nil
}

func accepts() (channel.Receipt, error) { return channel.Receipt{ID: "late"}, nil }

func TestALateAcceptanceIsAppliedAndTheHoldIsGone(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		late(h, notify.Hold, accepts)
		m := h.status(notify.StatusSentToProvider)
		h.same("hold", driver.SupportHold{}, m.SupportHold)
		if m.ProviderMessageID != "late" || m.Resolution != notify.ResolvedByCall || !m.DueOn.IsZero() {
			t.Errorf("message is %+v", m)
		}
		h.clk.Add(24 * time.Hour)
		h.drain()
		if n := len(h.sent()); n != 1 {
			t.Errorf("%d calls", n)
		}
	})
}

func TestALateAcceptancePreventsTheResend(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		late(h, notify.Resend, accepts)
		h.status(notify.StatusSentToProvider)
		h.drain()
		if n := len(h.sent()); n != 1 {
			t.Errorf("%d calls", n)
		}
	})
}

func TestALateAcceptanceConfirmsWhatWasAssumed(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		late(h, notify.AssumeSent, accepts)
		if m := h.status(notify.StatusSentToProvider); m.ProviderMessageID != "late" {
			t.Errorf("message is %+v", m)
		}
	})
}

func TestALateRefusalSettlesTheDoubt(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		late(h, notify.Hold, func() (channel.Receipt, error) { return channel.Receipt{}, channel.Transient("busy", 0, nil) })
		m := h.status(notify.StatusRetryReady)
		h.same("hold", driver.SupportHold{}, m.SupportHold)
		if m.ReasonCode != "busy" || m.RetryCount != 1 || m.Resolution != notify.ResolvedByCall || m.DueOn.Before(h.clk.Now().Add(5*time.Minute)) {
			t.Errorf("message is %+v", m)
		}
	})
}

func TestALateRefusalForGoodEndsWhatWasAssumedSent(t *testing.T) {
	for _, policy := range []notify.InDoubt{notify.Hold, notify.Resend, notify.AssumeSent} {
		t.Run(string(policy), func(t *testing.T) {
			visits(t, func(t *testing.T, h *host) {
				late(h, policy, func() (channel.Receipt, error) { return channel.Receipt{}, channel.Permanent("550", nil) })
				if m := h.status(notify.StatusFailedFinal); m.ReasonCode != "550" || !m.DueOn.IsZero() || m.IsOnSupportHold {
					t.Errorf("message is %+v", m)
				}
			})
		})
	}
}

func TestALateAnswerThatKnowsNothingChangesNothing(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		late(h, notify.Hold, func() (channel.Receipt, error) { return channel.Receipt{}, context.DeadlineExceeded })
		if m := h.status(notify.StatusOutcomeUnknown); !m.IsOnSupportHold || m.Doubts != 1 {
			t.Errorf("message is %+v", m)
		}
	})
}

// Another writer touched the row while its call ran, and decided nothing: the
// holder's result is saved over it.
func TestAnotherWriterDoesNotCostTheHolderItsResult(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.waiting()
		h.answer = func(context.Context, channel.Message) (channel.Receipt, error) {
			edit(h, notify.Messages, func(*notify.MessageRow) {})
			return accepts()
		}
		h.run("notify.distributor")
		if m := h.status(notify.StatusSentToProvider); m.ProviderMessageID != "late" || !m.LeaseExpiresOn.IsZero() {
			t.Errorf("message is %+v", m)
		}
	})
}
