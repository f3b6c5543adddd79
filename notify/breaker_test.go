package notify_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
)

// lost is a call without an answer.
var lost = channel.Unknown("500", nil)

// inDoubtNow counts the messages of which nobody knows whether they were sent.
func (h *host) inDoubtNow() (n int) {
	for _, m := range all(h, notify.Messages) {
		if m.Status == notify.StatusOutcomeUnknown {
			n++
		}
	}
	return n
}

// pooled is a channel with so many connections.
type pooled struct {
	*provider
	most int
}

func (p pooled) MaxCalls() int { return p.most }

// A channel that answers none of a thousand messages leaves twenty in doubt, and those that
// were under way when it did not answer the first.
func TestAnAccountThatDoesNotAnswerLeavesFewInDoubt(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.Notifier = notify.New(h.store, &notify.Options{Logger: quiet}, pooled{h.provider, 10})
		h.answer = failing(lost)
		for i := range 300 {
			h.ensure(letter(fmt.Sprint("letter ", i), fmt.Sprint("r", i)))
		}
		h.drain()
		if n := h.inDoubtNow(); n > 20+10 {
			t.Errorf("%d in doubt", n)
		}
		for _, m := range all(h, notify.Messages) {
			if m.Status != notify.StatusOutcomeUnknown && (m.RetryCount != 0 || m.Calls != 0) {
				t.Fatalf("a message that was not called has counted: %+v", m)
			}
		}
	})
}

// Calls that were under way when the first answer was lost are among the four, whether the
// channel has a bound of its own or not.
func TestCallsUnderWayAreAmongTheFourAfterALostAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := hostInMemory(t)
		answer := make(chan struct{})
		h.answer = func(_ context.Context, m channel.Message) (channel.Receipt, error) {
			if m.Text == "letter 0" {
				return channel.Receipt{}, lost
			}
			<-answer
			return channel.Receipt{}, nil
		}
		h.letters(10)
		go h.run("notify.distributor")
		synctest.Wait()
		for i := range 6 {
			h.ensure(letter(fmt.Sprint("later ", i), fmt.Sprint("l", i)))
		}
		go h.run("notify.distributor")
		synctest.Wait()
		if n := len(h.sent()); n != 10 {
			t.Errorf("%d calls, of which 9 are under way", n)
		}
		close(answer)
		synctest.Wait()
		h.same("sent", 16, len(h.texts()))
	})
}

// A message that was claimed before its account was found to be out is not called.
func TestTheBreakerAsksAtTheCall(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.Notifier = notify.New(h.store, &notify.Options{Logger: quiet, ChannelConcurrency: map[string]int{channelKey: 1}}, h.provider)
		h.answer = failing(revoked)
		h.letters(40)
		h.run("notify.distributor")
		if n := len(h.sent()); n != 1 {
			t.Errorf("%d calls of an account that is out after the first", n)
		}
		for _, m := range all(h, notify.Messages) {
			if m.Calls > 1 || m.Calls == 0 && m.RetryCount != 0 {
				t.Fatalf("%+v", m)
			}
		}
		h.answer = nil
		h.clk.Add(time.Second)
		h.drain()
		h.clk.Add(10 * time.Minute)
		h.drain()
		h.same("sent", 40, len(h.texts()))
	})
}

// A probe may get no answer, so it is a message that may be sent twice, if there is one.
func TestAProbeIsAMessageThatMayBeSentTwice(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.answer = failing(lost)
		h.letters(20)
		h.drain()
		h.clk.Add(time.Second)
		for i := range 5 {
			h.ensure(letter(fmt.Sprint("once ", i), fmt.Sprint("o", i)))
		}
		h.ensure(letter("code", "sam", func(m *notify.OutgoingMessage) { m.InDoubt = notify.Resend }))
		h.drain()
		calls := h.sent()[20:]
		if len(calls) != 1 || calls[0].Text != "code" {
			t.Errorf("the probe was %+v", calls)
		}
	})
}

// An outage that leaves each probe in doubt is probed every quarter of an hour.
func TestProbesWithoutAnAnswerAreRare(t *testing.T) {
	visitsInMemory(t, func(h *host) {
		h.Notifier = notify.New(h.store, &notify.Options{Logger: quiet}, pooled{h.provider, 10})
		h.answer = failing(lost)
		h.letters(200)
		for until := h.clk.Now().Add(24 * time.Hour); h.clk.Now().Before(until); h.clk.Add(5 * time.Minute) {
			h.drain()
		}
		if n := len(h.sent()); n > 10+20+110 {
			h.t.Errorf("%d calls in a day", n)
		}
	})
}

// A policy that is against one domain of recipients is not against the account; one that is
// against several in a row is.
func TestAPolicyIsAgainstTheAccountIfItIsAgainstSeveralDomains(t *testing.T) {
	barred := channel.Permanent("554 5.7.1", nil).Blame(channel.FaultPolicy)
	at := func(domain string) func(*notify.OutgoingMessage) {
		return func(m *notify.OutgoingMessage) { m.Address = m.RecipientRef + "@" + domain }
	}
	visits(t, func(t *testing.T, h *host) {
		h.answer = failing(barred)
		h.letters(10, at("one.example"))
		h.drain()
		if out := h.outages("tenant"); len(out) != 0 || len(h.sent()) != 10 {
			t.Fatalf("%d calls, outages %+v", len(h.sent()), out)
		}
		h.ensure(letter("two", "two", at("two.example")), letter("three", "three", at("three.example")))
		h.drain()
		if out := h.outages("tenant"); len(out) != 1 || out[0].Code != "554 5.7.1" {
			t.Fatalf("outages are %+v", out)
		}
		h.same("suppressed", []string(nil), h.suppressions("tenant"))
		h.answer = nil
		for range 30 {
			h.clk.Add(2 * time.Minute)
			h.drain()
		}
		h.same("sent within the hour", 12, len(h.texts()))
		if out := h.outages("tenant"); len(out) != 0 {
			t.Errorf("still out: %+v", out)
		}
	})
}

// What is the provider's fault, the account's or nobody's goes on for as long as the message
// is valid; a full mailbox is tried for two days, and so is a policy against one recipient.
func TestAMessageThatIsNotAtFaultIsTriedForAsLongAsItIsValid(t *testing.T) {
	for name, c := range map[string]struct {
		e     *channel.Error
		calls int // at least
		end   string
	}{
		"nobody's":   {channel.Transient("451", 0, nil), 150, notify.StatusExpired},
		"a policy's": {channel.Permanent("550 5.7.1", nil).Blame(channel.FaultPolicy), 8, notify.StatusFailedFinal},
		"address":    {channel.Transient("452", 0, nil).Blame(channel.FaultAddress), 8, notify.StatusFailedFinal},
		"for good":   {channel.Permanent("550", nil), 1, notify.StatusFailedFinal},
	} {
		t.Run(name, func(t *testing.T) {
			visitsInMemory(t, func(h *host) {
				h.answer = failing(c.e)
				h.ensure(letter("a", "sam"))
				began := h.clk.Now()
				for range 400 {
					h.drain()
					m := h.row("a")
					if m.DueOn.IsZero() {
						break
					}
					if wait := m.DueOn.Sub(h.clk.Now()); c.end == notify.StatusExpired && wait > 55*time.Minute {
						h.t.Fatalf("it waits for %v", wait)
					}
					h.clk.Set(m.DueOn)
				}
				m := h.row("a")
				if m.Status != c.end || len(h.sent()) < c.calls || c.calls < 10 && len(h.sent()) != c.calls {
					h.t.Errorf("%d calls in %v: %s", len(h.sent()), h.clk.Now().Sub(began), m.Status)
				}
			})
		})
	}
}
