package notify

import (
	"context"
	"testing"
	"time"

	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/storage"
)

// late is a call that returns after its claim was lost: while it runs, another
// process takes the message over and settles the doubt; then it gives answer.
func late(h *host, policy InDoubt, answer func() (Receipt, error)) {
	h.t.Helper()
	h.Notifier = New(h.store, &Options{Logger: quiet}, h.provider)
	h.Register(Type{Name: "visit", Renderer: visitTemplate, InDoubt: policy})
	h.waiting()
	other := newHost(h.t, h.store, h.clk, h.provider, h.provider)
	other.Register(Type{Name: "visit", Renderer: visitTemplate, InDoubt: policy})
	h.answer = func(context.Context, Message) (Receipt, error) {
		h.clk.Add(lease)
		other.run("notify.distributor") // takes over
		other.run("notify.resolve")     // applies the policy
		return answer()
	}
	h.run("notify.distributor")
	h.answer = nil
}

func accepts() (Receipt, error) { return Receipt{ID: "late"}, nil }

func TestALateAcceptanceIsAppliedAndTheHoldIsGone(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		late(h, Hold, accepts)
		m := h.status(StatusSentToProvider)
		h.same("hold", SupportHold{}, m.SupportHold)
		if m.ProviderMessageID != "late" || m.Resolution != ResolvedByCall || !m.DueOn.IsZero() {
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
		late(h, Resend, accepts)
		h.status(StatusSentToProvider)
		h.drain()
		if n := len(h.sent()); n != 1 {
			t.Errorf("%d calls", n)
		}
	})
}

func TestALateAcceptanceConfirmsWhatWasAssumed(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		late(h, AssumeSent, accepts)
		if m := h.status(StatusSentToProvider); m.ProviderMessageID != "late" {
			t.Errorf("message is %+v", m)
		}
	})
}

func TestALateRefusalSettlesTheDoubt(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		late(h, Hold, func() (Receipt, error) { return Receipt{}, Transient("busy", 0, nil) })
		m := h.status(StatusRetryReady)
		h.same("hold", SupportHold{}, m.SupportHold)
		if m.ReasonCode != "busy" || m.RetryCount != 1 || m.Resolution != ResolvedByCall || m.DueOn.Before(h.clk.Now().Add(5*time.Minute)) {
			t.Errorf("message is %+v", m)
		}
	})
}

func TestALateRefusalForGoodEndsWhatWasAssumedSent(t *testing.T) {
	for _, policy := range []InDoubt{Hold, Resend, AssumeSent} {
		t.Run(string(policy), func(t *testing.T) {
			visits(t, func(t *testing.T, h *host) {
				late(h, policy, func() (Receipt, error) { return Receipt{}, Permanent("550", nil) })
				if m := h.status(StatusFailedFinal); m.ReasonCode != "550" || !m.DueOn.IsZero() || m.IsOnSupportHold {
					t.Errorf("message is %+v", m)
				}
			})
		})
	}
}

func TestALateAnswerThatKnowsNothingChangesNothing(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		late(h, Hold, func() (Receipt, error) { return Receipt{}, context.DeadlineExceeded })
		if m := h.status(StatusOutcomeUnknown); !m.IsOnSupportHold || m.Doubts != 1 {
			t.Errorf("message is %+v", m)
		}
	})
}

// Another writer touched the row while its call ran, and decided nothing: the
// holder's result is saved over it.
func TestAnotherWriterDoesNotCostTheHolderItsResult(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.waiting()
		h.answer = func(context.Context, Message) (Receipt, error) {
			edit(h, outgoingMessages, func(*OutgoingMessage) {})
			return accepts()
		}
		h.run("notify.distributor")
		if m := h.status(StatusSentToProvider); m.ProviderMessageID != "late" || !m.LeaseExpiresOn.IsZero() {
			t.Errorf("message is %+v", m)
		}
	})
}

func TestNoStatusGoesBackwards(t *testing.T) {
	visitsInMemory(t, func(h *host) {
		now := storetest.Start.Add(time.Hour)
		sent := OutgoingMessage{Record: storage.Record{Status: StatusSentToProvider}, Progress: Progress{SentOn: storetest.Start, ProviderMessageID: "late", Calls: 1}}
		for _, status := range []string{StatusDelivered, StatusOpened, StatusFailedFinal, StatusCancelled, StatusSkipped} {
			m := OutgoingMessage{Record: storage.Record{Status: status}, Tries: Tries{EndedOn: now}}
			for _, held := range []bool{true, false} {
				h.mergeSent(&m, &sent, held)
			}
			if m.Status != status || !m.DueOn.IsZero() || m.ProviderMessageID != "late" || !m.SentOn.Equal(storetest.Start) {
				t.Errorf("%s became %+v", status, m)
			}
		}
		for _, mine := range []string{StatusRetryReady, StatusFailedFinal, StatusOutcomeUnknown, StatusSkipped} {
			m := sent
			late := OutgoingMessage{Record: storage.Record{Status: mine, DueOn: now}}
			if h.mergeSent(&m, &late, true) || m.Status != StatusSentToProvider {
				t.Errorf("late %s made it %s", mine, m.Status)
			}
		}
		second := OutgoingMessage{Record: storage.Record{Status: StatusRetryReady}, Progress: Progress{Calls: 2}}
		first := OutgoingMessage{Record: storage.Record{Status: StatusFailedFinal}, Progress: Progress{Calls: 1}}
		if h.mergeSent(&second, &first, false) {
			t.Error("the refusal of an earlier call ended a later one")
		}
	})
}

func TestAResolversDecisionGivesWayToWhatOthersDecided(t *testing.T) {
	visitsInMemory(t, func(h *host) {
		decided := OutgoingMessage{Record: storage.Record{Status: StatusRetryReady}, Progress: Progress{Resolution: ResolvedByResend}}
		open := OutgoingMessage{Record: storage.Record{Status: StatusOutcomeUnknown}}
		if m := open; !h.mergeResolved(&m, &decided, true) || m.Status != StatusRetryReady {
			t.Errorf("held: %+v", m)
		}
		if m := open; h.mergeResolved(&m, &decided, false) {
			t.Errorf("not held: %+v", m)
		}
		held := open
		held.put(HoldInDoubt)
		if h.mergeResolved(&held, &decided, true) {
			t.Errorf("on hold: %+v", held)
		}
		found := OutgoingMessage{Record: storage.Record{Status: StatusSentToProvider}, Progress: Progress{Resolution: ResolvedByLookup, ProviderMessageID: "p1", SentOn: storetest.Start}}
		if !h.mergeResolved(&held, &found, false) || held.Status != StatusSentToProvider || held.IsOnSupportHold {
			t.Errorf("found by look-up: %+v", held)
		}
	})
}
