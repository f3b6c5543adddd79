package notify_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/gate"
)

// While the first is out, the next one sends at once, and no try is counted; when the
// first is back, it sends again.
func TestWhileTheFirstIsOutTheNextOneSendsAtOnce(t *testing.T) {
	two(t, func(t *testing.T, h *host, b *provider) {
		h.answer = failing(revoked)
		h.letters(5)
		h.drain()
		tried := len(h.sent())
		if len(b.sent()) != 5 {
			t.Fatalf("%d were sent by the next one", len(b.sent()))
		}
		h.clk.Add(time.Millisecond) // it is too early for a probe
		for i := range 20 {
			h.ensure(letter(fmt.Sprint("more ", i), fmt.Sprint("r", i)))
		}
		h.drain()
		if len(h.sent()) != tried || len(b.sent()) != 25 {
			t.Errorf("%d calls of the first, after %d; %d of the next", len(h.sent()), tried, len(b.sent()))
		}
		h.clk.Add(time.Minute)
		h.ensure(letter("probe", "sam"), letter("beside it", "kim"))
		h.drain()
		if len(h.sent()) != tried+1 || len(b.sent()) != 27 {
			t.Errorf("%d probes; %d calls of the next", len(h.sent())-tried, len(b.sent()))
		}
		h.answer = nil
		h.clk.Add(time.Hour)
		h.ensure(letter("it is back", "sam"))
		h.drain()
		h.ensure(letter("and sends", "kim"), letter("all", "lou"))
		h.drain()
		if len(h.sent()) != tried+4 || len(b.sent()) != 27 || len(h.outages("tenant")) != 0 {
			t.Errorf("%d calls of the first, %d of the next, %v", len(h.sent())-tried-1, len(b.sent()), h.outages("tenant"))
		}
		for _, m := range all(h, notify.Messages) {
			if m.Status != notify.StatusSentToProvider || m.RetryCount != 0 {
				t.Errorf("%+v", m)
			}
		}
	})
}

// The first has refused these messages itself, and the next one is out: that spares the
// next one's refusals, and does not have the first called again at once.
func TestARoundThatEndsInAnOutageIsARound(t *testing.T) {
	two(t, func(t *testing.T, h *host, b *provider) {
		h.answer, b.answer = failing(busy), failing(revoked)
		h.letters(5)
		h.drain()
		for _, m := range all(h, notify.Messages) {
			if m.RetryCount != 1 || m.DueOn.Sub(h.clk.Now()) < 5*time.Minute || m.Calls > 2 {
				t.Errorf("after %d calls: %+v", m.Calls, m)
			}
		}
		h.same("calls of the first", 5, len(h.sent()))
	})
}

// Each channel of a chain has outages of its own; with all of them out messages wait,
// and the first that is back takes them.
func TestAChainIsOutWhenAllItsChannelsAre(t *testing.T) {
	two(t, func(t *testing.T, h *host, b *provider) {
		h.answer, b.answer = failing(revoked), failing(revoked)
		h.letters(4)
		h.drain()
		var out []string
		for _, o := range h.outages("tenant") {
			out = append(out, o.Channel)
		}
		h.same("out", []string{channelKey, nextKey}, out)
		calls := len(h.sent()) + len(b.sent())
		h.clk.Add(time.Millisecond)
		h.letters(9)
		h.same("claimed while both are out", 0, h.run("notify.distributor"))
		b.answer = nil
		for range 3 {
			h.clk.Add(time.Minute)
			h.drain()
		}
		if len(b.texts()) != 9 || len(h.sent())+len(b.sent()) > calls+14 {
			t.Errorf("%d were sent; %d calls", len(b.texts()), len(h.sent())+len(b.sent())-calls)
		}
	})
}

func (p *provider) texts() map[string]int {
	out := map[string]int{}
	for _, m := range p.sent() {
		out[m.Text]++
	}
	return out
}

// What bounds calls is each channel's own, and so are rates that gates keep.
func TestTheBoundsOfAChainAreThoseOfItsChannels(t *testing.T) {
	visitsInMemory(t, func(h *host) {
		b := &provider{}
		var asked []string
		noting := gate.Func(func(_ context.Context, a gate.Attempt) (gate.Verdict, error) {
			asked = append(asked, a.Channel)
			return gate.Proceed(), nil
		})
		h.with(&notify.Options{ChannelConcurrency: map[string]int{nextKey: 3}, Gates: []gate.Gate{noting}},
			notify.Failover(bounded{h.provider}, carrier{b, nextKey}))
		begun, answer := make(chan struct{}, 12), make(chan struct{})
		wait := func(err error) func(context.Context, channel.Message) (channel.Receipt, error) {
			return func(context.Context, channel.Message) (channel.Receipt, error) {
				begun <- struct{}{}
				<-answer
				return channel.Receipt{}, err
			}
		}
		h.answer, b.answer = wait(busy), wait(nil)
		h.letters(6)
		for i, most := range []int{2, 3} {
			done := make(chan struct{})
			go func() { defer close(done); h.run("notify.distributor") }()
			for range most {
				<-begun
			}
			h.same("called at once", most, h.calling())
			close(answer)
			<-done
			answer = make(chan struct{})
			for len(begun) > 0 {
				<-begun
			}
			h.same("gates were asked about", 6*(i+1), len(asked))
		}
		h.same("gates were asked about", channelKey+" "+nextKey, asked[0]+" "+asked[6])
	})
}

// calling counts messages whose call has begun and not ended.
func (h *host) calling() (n int) {
	for _, m := range all(h, notify.Messages) {
		if m.Status == notify.StatusSending && !m.CallStartedOn.IsZero() {
			n++
		}
	}
	return n
}

// One tenant has a chain of its own, which ends with the channel of the house.
func TestAChannelSourceMayAnswerWithAChain(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		theirs := &provider{}
		house := carrier{h.provider, nextKey}
		source := &senders{keys: []string{channelKey}, channel: map[notify.Scope]channel.Channel{"north": notify.Failover(theirs, house)}}
		h.with(&notify.Options{Channels: source}, house)
		theirs.answer = failing(revoked)
		h.letters(3, in("north"))
		h.drain()
		calls := len(theirs.sent())
		h.clk.Add(time.Millisecond)
		h.letters(6, in("north"))
		h.drain()
		if len(theirs.sent()) != calls || len(h.texts()) != 6 {
			t.Errorf("%d calls of theirs after %d, %d of the house's", len(theirs.sent()), calls, len(h.texts()))
		}
		if out := h.outages("north"); len(out) != 1 || out[0].Scope != "north" || out[0].Channel != channelKey {
			t.Errorf("out: %+v", out)
		}
		h.answer = failing(revoked)
		h.clk.Add(time.Millisecond)
		h.ensure(letter("both are out", "sam", in("north")))
		h.drain()
		if out := h.outages("north"); len(out) != 2 || !out[0].Everywhere || out[0].Channel != nextKey {
			t.Errorf("out: %+v", out)
		}
		h.answer = nil
		h.clk.Add(10 * time.Minute)
		h.drain()
		h.clk.Add(10 * time.Minute)
		h.drain()
		if m := h.row("both are out"); m.Status != notify.StatusSentToProvider || m.Via != nextKey {
			t.Errorf("%+v", m)
		}
	})
}

// A person's pause of the chain's key stops its messages; that of a later channel
// leaves that one out.
func TestAPauseOfAChainAndOfItsChannels(t *testing.T) {
	two(t, func(t *testing.T, h *host, b *provider) {
		h.answer = failing(revoked)
		h.pause(notify.Extent{Everywhere: true, Channel: nextKey})
		h.letters(2)
		h.drain()
		h.same("calls of the paused one", 0, len(b.sent()))
		h.resume(notify.Extent{Everywhere: true, Channel: nextKey})
		h.clk.Add(10 * time.Minute)
		h.drain()
		h.same("calls when it goes on", 2, len(b.texts()))
		h.pause(notify.Extent{Everywhere: true, Channel: channelKey})
		h.letters(4)
		h.drain()
		h.same("calls while the chain is paused", 2, len(b.texts()))
	})
}
