package notify_test

import (
	"context"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
)

// A doubt stays with the channel that was called, whatever ends it.
func TestI10_ADoubtStaysWithItsChannel(t *testing.T) {
	for name, c := range map[string]struct {
		first  func(*provider) channel.Channel
		policy notify.InDoubt
	}{
		"nobody can be asked": {func(p *provider) channel.Channel { return p }, notify.Hold},
		"it is sent again":    {func(p *provider) channel.Channel { return p }, notify.Resend},
		"it takes ids once":   {func(p *provider) channel.Channel { return idempotent{p, time.Hour} }, notify.Hold},
		"it says it is absent": {func(p *provider) channel.Channel {
			return &knowing{provider: p, knows: channel.LookupResult{Status: channel.LookupAbsent}}
		}, notify.Hold},
	} {
		t.Run(name, func(t *testing.T) {
			visits(t, func(t *testing.T, h *host) {
				b := &provider{}
				h.crashing(c.policy, notify.Failover(c.first(h.provider), carrier{b, nextKey}))
				h.answer = failing(revoked)
				for range 5 {
					h.drain()
					h.clk.Add(time.Minute)
				}
				if len(b.sent()) != 0 || len(h.sent()) == 0 != (c.policy == notify.Hold && name == "nobody can be asked") {
					t.Errorf("%d calls of the first, %d of the next: %+v", len(h.sent()), len(b.sent()), only(h, notify.Messages))
				}
				h.answer = nil
				h.ensure(letter("another", "kim")) // one that may go either way
				h.drain()
				h.clk.Add(time.Minute)
				h.drain()
				if len(b.texts()) > 1 || b.texts()["Dear sam"] > 0 {
					t.Errorf("the next one sent %v", b.texts())
				}
			})
		})
	}
}

// A process that was killed in the call of the second: that one is asked, and calls
// again.
func TestI12_AKilledCallOfTheNextChannelIsAskedAboutThere(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		first := &knowing{provider: h.provider, knows: channel.LookupResult{Status: channel.LookupAccepted}}
		b := &provider{}
		next := &asked{knowing: knowing{provider: b, knows: channel.LookupResult{Status: channel.LookupAbsent}}}
		h.with(nil, notify.Failover(first, next))
		h.answer = failing(busy)
		h.ensure(letter("a", "sam"))
		h.run("notify.distributor")
		h.dieCalling()
		h.clk.Add(lease)
		h.drain()
		m := h.status(notify.StatusSentToProvider)
		if first.asked != 0 || next.asked != 1 || next.channel != nextKey || len(h.sent()) != 1 || len(b.sent()) != 1 || m.Via != nextKey || m.Doubts != 1 {
			t.Errorf("the first was asked %d times, the next %d about %s; %d and %d calls: %+v", first.asked, next.asked, next.channel, len(h.sent()), len(b.sent()), m)
		}
	})
}

// Whose call it is stands on the row before the call, though nobody has named it.
func TestI8_TheChannelIsNotedBeforeItIsCalled(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		first := &knowing{provider: h.provider, knows: channel.LookupResult{Status: channel.LookupAccepted}}
		b := &provider{}
		next := &asked{knowing: knowing{provider: b, knows: channel.LookupResult{Status: channel.LookupAccepted}}}
		h.with(nil, notify.Failover(first, next))
		h.answer = failing(revoked)
		h.letters(1)
		h.drain()
		b.answer = func(context.Context, channel.Message) (channel.Receipt, error) {
			h.same("noted", nextKey, h.row("a").Via)
			return channel.Receipt{}, io.EOF
		}
		h.ensure(letter("a", "sam"))
		h.drain()
		if m := h.row("a"); first.asked != 0 || next.asked != 1 || m.Status != notify.StatusSentToProvider || m.Calls != 1 {
			t.Errorf("the first was asked %d times, the next %d: %+v", first.asked, next.asked, m)
		}
	})
}

// asked is a second channel that can be asked.
type asked struct {
	knowing
	channel string
}

func (*asked) Key() string { return nextKey }

func (a *asked) Lookup(ctx context.Context, m channel.Message) (channel.LookupResult, error) {
	a.channel = m.Channel
	return a.knowing.Lookup(ctx, m)
}

// A call that was cut off is a doubt, and no refusal.
func TestI10_ACallThatWasCutOffDoesNotGoOn(t *testing.T) {
	two(t, func(t *testing.T, h *host, b *provider) {
		h.answer = failing(io.EOF)
		h.ensure(letter("a", "sam"))
		h.drain()
		if m := h.status(notify.StatusOutcomeUnknown); !m.IsOnSupportHold || len(b.sent()) != 0 || m.Via != "" {
			t.Errorf("%d calls of the next: %+v", len(b.sent()), m)
		}
	})
}

// The refusal came after the claim was lost, and nobody has called meanwhile.
func TestALateRefusalGoesOnToTheNextChannel(t *testing.T) {
	two(t, func(t *testing.T, h *host, b *provider) {
		other := h.rival(notify.Failover(h.provider, carrier{b, nextKey}))
		h.ensure(letter("a", "sam"))
		h.answer = func(context.Context, channel.Message) (channel.Receipt, error) {
			h.clk.Add(lease)
			other.run("notify.distributor")
			other.run("notify.resolve")
			return channel.Receipt{}, busy
		}
		h.run("notify.distributor")
		if m := h.status(notify.StatusRetryReady); m.Via != nextKey || m.IsOnSupportHold {
			t.Fatalf("%+v", m)
		}
		h.drain()
		h.same("calls", []int{1, 1}, []int{len(h.sent()), len(b.sent())})
	})
}

// The first refused and reports all the same.
func TestALateCallbackOfAnEarlierChannel(t *testing.T) {
	from := func(m *notify.MessageRow, provider, id string, k channel.StatusKind) channel.StatusEvent {
		e := about(m, k)
		e.Provider, e.ProviderMessageID = provider, id
		return e
	}
	for name, c := range map[string]struct {
		sent         bool // by the second, before the event
		provider, id string
		kind         channel.StatusKind
		want         string
		calls        int // of the second, in the end
	}{
		"failed, before the next call":      {false, "test", "", channel.KindFailed, notify.StatusSentToProvider, 1},
		"failed with an id, before it":      {false, "test", "x", channel.KindFailed, notify.StatusSentToProvider, 1},
		"failed, after it":                  {true, "test", "", channel.KindFailed, notify.StatusSentToProvider, 1},
		"failed with an id, after it":       {true, "test", "x", channel.KindFailed, notify.StatusSentToProvider, 1},
		"accepted, before it":               {false, "test", "x", channel.KindAccepted, notify.StatusSentToProvider, 0},
		"delivered, before it":              {false, "test", "x", channel.KindDelivered, notify.StatusDelivered, 0},
		"delivered, after it":               {true, "test", "x", channel.KindDelivered, notify.StatusDelivered, 1},
		"of the next: failed":               {true, "second", "", channel.KindFailed, notify.StatusFailedFinal, 1},
		"of the next: failed with its id":   {true, "other-name", nextKey, channel.KindFailed, notify.StatusFailedFinal, 1},
		"of the next: delivered":            {true, "second", nextKey, channel.KindDelivered, notify.StatusDelivered, 1},
		"of another account, with their id": {true, "second", "x", channel.KindFailed, notify.StatusSentToProvider, 1},
	} {
		t.Run(name, func(t *testing.T) {
			two(t, func(t *testing.T, h *host, b *provider) {
				h.answer = failing(busy)
				h.ensure(letter("a", "sam"))
				h.run("notify.distributor")
				if c.sent {
					h.run("notify.distributor")
				}
				h.track(from(h.row("a"), c.provider, c.id, c.kind))
				h.drain()
				if m := h.status(c.want); len(b.sent()) != c.calls || !m.DueOn.IsZero() {
					t.Errorf("%d calls of the next: %+v", len(b.sent()), m)
				}
			})
		})
	}
}

// An attempt in flight is not overturned either.
func TestAFailureOfAnEarlierChannelWhileTheNextOneIsCalled(t *testing.T) {
	two(t, func(t *testing.T, h *host, b *provider) {
		h.answer = failing(busy)
		h.ensure(letter("a", "sam"))
		b.answer = func(context.Context, channel.Message) (channel.Receipt, error) {
			h.track(about(only(h, notify.Messages), channel.KindFailed))
			h.status(notify.StatusSending)
			return channel.Receipt{ID: "theirs"}, nil
		}
		h.drain()
		if m := h.status(notify.StatusSentToProvider); m.ProviderMessageID != "theirs" {
			t.Errorf("%+v", m)
		}
	})
}

// Each channel's receipts are its own.
func TestCallbacksOfBothFindTheirMessages(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		b := &provider{}
		h.with(nil, notify.Failover(carrier{h.provider, channelKey}, carrier{b, nextKey}))
		number := 0
		numbered := func(context.Context, channel.Message) (channel.Receipt, error) {
			number++
			return channel.Receipt{ID: fmt.Sprint("id ", number)}, nil
		}
		h.answer, b.answer = numbered, numbered
		h.ensure(letter("by the first", "sam"))
		h.drain()
		h.answer = failing(busy)
		h.ensure(letter("by the next", "kim"))
		h.drain()
		event := func(provider, id string) channel.StatusEvent {
			return channel.StatusEvent{Provider: provider, EventID: provider + id, Kind: channel.KindDelivered, ProviderMessageID: id}
		}
		h.same("strangers", notify.TrackReport{Waiting: 2}, h.track(event("test", "id 2"), event("second", "id 1")))
		h.same("reports", notify.TrackReport{Applied: 2}, h.track(event("test", "id 1"), event("second", "id 2")))
		for _, m := range all(h, notify.Messages) {
			if m.Status != notify.StatusDelivered {
				t.Errorf("%+v", m)
			}
		}
	})
}
