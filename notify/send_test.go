package notify_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belfry-go/belfry/internal/storable"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
)

// waiting has one message that is due, and nothing else to do.
func (h *host) waiting() {
	h.t.Helper()
	h.dispatch(visit("7", person("sam")))
	h.run("notify.scheduler")
	h.run("notify.generator")
	h.status(notify.StatusCreated)
}

func failing(err error) func(context.Context, channel.Message) (channel.Receipt, error) {
	return func(context.Context, channel.Message) (channel.Receipt, error) { return channel.Receipt{}, err }
}

func TestI8_AClaimAndItsCallStartCommitBeforeTheProviderIsCalled(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.waiting()
		var during *notify.MessageRow
		h.answer = func(context.Context, channel.Message) (channel.Receipt, error) {
			during = only(h, notify.Messages)
			return channel.Receipt{}, nil
		}
		h.drain()
		if during.Status != notify.StatusSending || during.ClaimToken == "" || during.LeaseExpiresOn.IsZero() || during.Calls != 1 || !during.CallStartedOn.Equal(storetest.Start) {
			t.Errorf("during the call the stored message is %+v", during)
		}
	})
}

func TestI9_AtMostOneProviderCallPerClaim(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.waiting()
		claims := map[string]int{}
		h.answer = func(context.Context, channel.Message) (channel.Receipt, error) {
			claims[only(h, notify.Messages).ClaimToken]++
			return channel.Receipt{}, channel.Transient("busy", 0, nil).Blame(channel.FaultAddress)
		}
		for range 10 {
			h.drain()
			h.clk.Add(time.Hour)
			if m := only(h, notify.Messages); !m.DueOn.IsZero() {
				h.clk.Set(m.DueOn)
			}
		}
		h.status(notify.StatusFailedFinal)
		for token, calls := range claims {
			if calls != 1 {
				t.Errorf("claim %s made %d calls", token, calls)
			}
		}
		if len(claims) != 8 {
			t.Errorf("%d claims", len(claims))
		}
	})
}

// I-10, with definite refusals: attempts are counted, spaced and limited.
func TestI10_RetriesFollowDefiniteRefusalsOnly(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.waiting()
		h.answer = failing(channel.Transient("busy", 0, errors.New("sam@example.com is busy")).Blame(channel.FaultAddress))
		for i, least := range []time.Duration{5 * time.Minute, 15 * time.Minute, time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour} {
			h.drain()
			m := h.status(notify.StatusRetryReady)
			wait := m.DueOn.Sub(h.clk.Now())
			if wait < least || wait > least+least/10 || m.RetryCount != i+1 || m.ReasonCode != "busy" || !m.CallStartedOn.IsZero() {
				t.Fatalf("after refusal %d the message waits %v: %+v", i+1, wait, m)
			}
			h.clk.Set(m.DueOn.Add(-time.Microsecond))
			h.drain()
			h.status(notify.StatusRetryReady)
			h.clk.Set(m.DueOn)
		}
		h.drain()
		m := h.status(notify.StatusFailedFinal)
		if !m.DueOn.IsZero() || m.EndedOn.IsZero() || m.IsOnSupportHold {
			t.Errorf("message is %+v", m)
		}
		for i, call := range h.sent() {
			if call.Attempt != i+1 || call.ID != m.MessageID {
				t.Errorf("call %d is attempt %d of %s", i+1, call.Attempt, call.ID)
			}
		}
	})
}

func TestAProviderMayAskForMoreTimeButNotForLess(t *testing.T) {
	visitsInMemory(t, func(h *host) {
		h.waiting()
		for _, asked := range []time.Duration{time.Second, 3 * time.Hour, 1000 * time.Hour} {
			h.answer = failing(channel.Transient("throttled", asked, nil))
			h.drain()
			m := h.status(notify.StatusRetryReady)
			want := max(5*time.Minute, min(asked, 24*time.Hour))
			if wait := m.DueOn.Sub(h.clk.Now()); wait < want || wait > want+2*time.Minute {
				t.Errorf("asked for %v, waits %v", asked, wait)
			}
			h.clk.Set(m.DueOn)
		}
	})
}

func TestAPermanentRefusalIsFinalAtOnce(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.waiting()
		h.answer = failing(fmt.Errorf("smtp: %w", channel.Permanent("550 no such user\x00\n", nil)))
		h.drain()
		m := h.status(notify.StatusFailedFinal)
		if m.ReasonCode != "550 no such user" || m.Calls != 1 || !m.DueOn.IsZero() {
			t.Errorf("message is %+v", m)
		}
	})
}

// What a provider answers is never a reason to lose its acceptance.
func TestAnAcceptanceWithAnUnstorableReceiptIsKept(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.waiting()
		h.answer = func(context.Context, channel.Message) (channel.Receipt, error) {
			return channel.Receipt{ID: "a\x00b\xff" + long}, nil
		}
		h.drain()
		if m := h.status(notify.StatusSentToProvider); len(m.ProviderMessageID) > storable.MaxCode || m.ProviderMessageID[:2] != "ab" {
			t.Errorf("provider id is %q", m.ProviderMessageID)
		}
	})
}

var long = fmt.Sprintf("%0500d", 0)

func TestAPanicOfAChannelLeavesTheMessageInDoubt(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.waiting()
		h.answer = func(context.Context, channel.Message) (channel.Receipt, error) { panic("after the request") }
		h.run("notify.distributor")
		if m := h.status(notify.StatusOutcomeUnknown); m.ReasonCode != "panic" {
			t.Errorf("reason is %s", m.ReasonCode)
		}
	})
}

func TestACallThatTakesTooLongIsInDoubt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := hostInMemory(t)
		h.Notifier = notify.New(h.store, &notify.Options{Logger: quiet, CallTimeout: time.Minute}, h.provider)
		h.Register(notify.Type{Name: "visit", Renderer: visitTemplate})
		h.waiting()
		h.answer = func(ctx context.Context, _ channel.Message) (channel.Receipt, error) {
			<-ctx.Done()
			return channel.Receipt{}, ctx.Err()
		}
		h.run("notify.distributor")
		h.status(notify.StatusOutcomeUnknown)
	})
}

// At shutdown a message whose call has not started is given back uncounted.
func TestAMessageThatWasNotCalledIsGivenBackUncounted(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.waiting()
		rows := h.claim([]string{notify.StatusCreated}, notify.StatusSending)
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if err := h.Distribute(t.Context(), notify.Sending{Row: rows[0], Ctx: ended, Lease: lease}); err != nil {
			t.Fatal(err)
		}
		m := rows[0]
		if m.Status != notify.StatusRetryReady || m.Calls != 0 || m.RetryCount != 0 || !m.CallStartedOn.IsZero() || !m.DueOn.Equal(storetest.Start) {
			t.Errorf("message is %+v", m)
		}
		if n := len(h.sent()); n != 0 {
			t.Errorf("%d calls", n)
		}
	})
}

// The call-started write is fenced: an event that ended the message meanwhile
// stands, and nobody is called.
func TestI26_NoCallStartsAfterTheMessageHasEnded(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.waiting()
		rows := h.claim([]string{notify.StatusCreated}, notify.StatusSending)
		edit(h, notify.Messages, func(m *notify.MessageRow) { m.Status, m.DueOn = notify.StatusCancelled, time.Time{} })
		if err := h.Distribute(t.Context(), notify.Sending{Row: rows[0], Ctx: t.Context(), Lease: lease}); err != nil {
			t.Fatal(err)
		}
		if n := len(h.sent()); n != 0 {
			t.Errorf("%d calls", n)
		}
		h.status(notify.StatusCancelled)
	})
}

// A worker dies between its claim and its call: released, uncounted.
func TestAClaimThatDiedBeforeItsCallGoesBackByItself(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.waiting()
		h.claim([]string{notify.StatusCreated}, notify.StatusSending)
		h.drain()
		h.status(notify.StatusSending)
		h.clk.Add(lease)
		h.run("notify.distributor")
		if m := h.status(notify.StatusRetryReady); m.RetryCount != 0 || m.Calls != 0 || m.LeaseLossCount != 1 {
			t.Errorf("message is %+v", m)
		}
		h.drain()
		h.status(notify.StatusSentToProvider)
		if n := len(h.sent()); n != 1 {
			t.Errorf("%d calls", n)
		}
	})
}

func TestCallsOfAGroupRunAtOnce(t *testing.T) {
	visitsInMemory(t, func(h *host) {
		h.dispatch(visit("7", person("sam"), person("kim"), person("lou")))
		var items []notify.Sending
		meet := make(chan struct{})
		h.answer = func(context.Context, channel.Message) (channel.Receipt, error) {
			select { // each waits until another one is here too
			case meet <- struct{}{}:
			case <-meet:
			}
			return channel.Receipt{}, nil
		}
		h.run("notify.scheduler")
		h.run("notify.generator")
		for _, m := range h.claim([]string{notify.StatusCreated}, notify.StatusSending)[:2] {
			items = append(items, notify.Sending{Row: m, Ctx: t.Context(), Lease: lease})
		}
		if err := h.Distribute(t.Context(), items...); err != nil {
			t.Fatal(err)
		}
	})
}
