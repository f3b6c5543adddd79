package notify_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/memory"
)

// carrier is a provider with a key of its own, which it gives its messages' ids, too.
type carrier struct {
	*provider
	key string
}

func (c carrier) Key() string { return c.key }

func (c carrier) Send(ctx context.Context, m channel.Message) (channel.Receipt, error) {
	r, err := c.provider.Send(ctx, m)
	if err == nil && r.ID == "accepted" {
		r.ID = c.key
	}
	return r, err
}

// busy is a refusal that blames nobody and may pass.
var busy = channel.Transient("busy", 0, nil)

// The keys of a chain's channels behind the first.
const nextKey, lastKey = "email:second", "email:lastKey"

// chained is a host whose channel has others to go to.
func (h *host) chained(more ...channel.Channel) {
	h.t.Helper()
	h.with(nil, notify.Failover(h.provider, more...))
}

func (h *host) with(options *notify.Options, channels ...channel.Channel) {
	h.t.Helper()
	if options == nil {
		options = &notify.Options{}
	}
	options.Logger = quiet
	h.Notifier = notify.New(h.store, options, channels...)
	h.Register(notify.Type{Name: "visit", Renderer: visitTemplate})
}

// two is a host with a second channel to go to.
func two(t *testing.T, test func(t *testing.T, h *host, b *provider)) {
	t.Helper()
	visits(t, func(t *testing.T, h *host) {
		b := &provider{}
		h.chained(carrier{b, nextKey})
		test(t, h, b)
	})
}

// A definite refusal ends the claim; the next claim calls the next channel, at once.
func TestI9_ARefusalNamesTheNextChannelForTheNextClaim(t *testing.T) {
	two(t, func(t *testing.T, h *host, b *provider) {
		h.answer = failing(busy)
		h.ensure(letter("a", "sam"))
		h.run("notify.distributor")
		m := h.status(notify.StatusRetryReady)
		if len(h.sent()) != 1 || len(b.sent()) != 0 || m.Via != nextKey || !m.DueOn.Equal(h.clk.Now()) || m.RetryCount != 0 || m.ReasonCode != "busy" || !m.CallStartedOn.IsZero() {
			t.Fatalf("%d and %d calls: %+v", len(h.sent()), len(b.sent()), m)
		}
		h.run("notify.distributor")
		m = h.status(notify.StatusSentToProvider)
		if len(h.sent()) != 1 || len(b.sent()) != 1 || m.Via != nextKey || m.ProviderMessageID != nextKey || m.Calls != 2 {
			t.Fatalf("%d and %d calls: %+v", len(h.sent()), len(b.sent()), m)
		}
		h.same("message", []string{nextKey, m.MessageID}, []string{b.sent()[0].Channel, b.sent()[0].ID})
	})
}

// The schedule's pause comes behind the last channel, once a round, and the next round
// begins with the first.
func TestARoundEndsWithTheLastChannelAndBeginsAgainAfterThePause(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		b, c := &provider{}, &provider{}
		h.chained(carrier{b, nextKey}, carrier{c, lastKey})
		var called []string
		for name, p := range map[string]*provider{"a": h.provider, "b": b, "c": c} {
			p.answer = func(context.Context, channel.Message) (channel.Receipt, error) {
				called = append(called, name)
				return channel.Receipt{}, busy
			}
		}
		h.ensure(letter("a", "sam"))
		for round, least := range []time.Duration{5 * time.Minute, 15 * time.Minute, 50 * time.Minute} {
			called = nil
			h.drain()
			m := h.status(notify.StatusRetryReady)
			h.same("round", "a b c", strings.Join(called, " "))
			if wait := m.DueOn.Sub(h.clk.Now()); wait < least || wait > least+least/10 || m.RetryCount != round+1 {
				t.Fatalf("after round %d it waits %v: %+v", round+1, wait, m)
			}
			h.clk.Set(m.DueOn)
		}
		h.provider.answer = nil
		h.drain()
		if m := h.status(notify.StatusSentToProvider); m.Via != channelKey {
			t.Errorf("%+v", m)
		}
	})
}

// What is wrong with the address or the message is wrong with them everywhere.
func TestTheNextChannelIsForWhatTheChannelOrNobodyIsToBlameFor(t *testing.T) {
	for name, c := range map[string]struct {
		err  *channel.Error
		goes bool
	}{
		"for now, nobody":       {busy, true},
		"for now, the channel":  {busy.Blame(channel.FaultAccount), true},
		"for now, the address":  {busy.Blame(channel.FaultAddress), false},
		"for now, the message":  {busy.Blame(channel.FaultMessage), false},
		"for good, nobody":      {channel.Permanent("554", nil), true},
		"for good, the channel": {channel.Permanent("554", nil).Blame(channel.FaultAccount), true},
		"for good, the address": {channel.Permanent("550", nil).Blame(channel.FaultAddress), false},
		"for good, the message": {channel.Permanent("552", nil).Blame(channel.FaultMessage), false},
		"perhaps, nobody":       {channel.Unknown("lost", nil), false},
		"perhaps, the channel":  {channel.Unknown("lost", nil).Blame(channel.FaultAccount), false},
	} {
		t.Run(name, func(t *testing.T) {
			visitsInMemory(t, func(h *host) {
				b := &provider{}
				h.chained(carrier{b, nextKey})
				h.answer = failing(c.err)
				h.ensure(letter("a", "sam"))
				h.drain()
				if went := len(b.sent()) == 1; went != c.goes {
					h.t.Errorf("%d calls of the next one: %+v", len(b.sent()), h.row("a"))
				}
			})
		})
	}
}

// A message has failed for good when every channel has said so.
func TestTheLastChannelDoesNotFailWhatAnEarlierOneMayTakeLater(t *testing.T) {
	two(t, func(t *testing.T, h *host, b *provider) {
		b.answer = failing(channel.Permanent("554", nil))
		h.answer = failing(channel.Transient("throttled", 3*time.Hour, nil))
		h.ensure(letter("a", "sam"))
		h.drain()
		m := h.status(notify.StatusRetryReady)
		if wait := m.DueOn.Sub(h.clk.Now()); wait < 3*time.Hour || m.RetryCount != 1 {
			t.Fatalf("it waits %v, and the first asked for three hours: %+v", wait, m)
		}
		h.clk.Set(m.DueOn)
		h.answer = failing(channel.Permanent("554", nil))
		h.drain()
		if m := h.status(notify.StatusFailedFinal); len(b.sent()) != 2 || m.ReasonCode != "554" || m.Via != nextKey {
			t.Errorf("%+v", m)
		}
	})
}

// A message that is not called after all begins with the first again.
func TestAMessageThatIsGivenBackHasNoChannelYet(t *testing.T) {
	two(t, func(t *testing.T, h *host, b *provider) {
		h.answer = failing(revoked)
		h.letters(1)
		h.drain()
		h.ensure(letter("a", "sam"))
		rows := h.claim([]string{notify.StatusCreated}, notify.StatusSending)
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if err := h.Distribute(t.Context(), notify.Sending{Row: rows[0], Ctx: ended, Lease: lease}); err != nil {
			t.Fatal(err)
		}
		if m := rows[0]; m.Status != notify.StatusRetryReady || m.Via != "" || m.Calls != 0 || !m.DueOn.Equal(driver.Now(h.store)) {
			t.Errorf("%+v", m)
		}
	})
}

// So does one whose call was noted and not made, since its claim was lost.
func TestAMessageThatIsGivenBackAfterItsStart(t *testing.T) {
	two(t, func(t *testing.T, h *host, b *provider) {
		h.answer = failing(revoked)
		h.letters(1)
		h.drain()
		h.ensure(letter("a", "sam"))
		row := h.claim([]string{notify.StatusCreated}, notify.StatusSending)[0]
		stale := *row
		h.inOne(func(tx storage.Tx) error { return notify.Messages.Save(t.Context(), tx, row) })
		if err := h.Distribute(t.Context(), notify.Sending{Row: &stale, Ctx: t.Context(), Lease: lease}); err != nil {
			t.Fatal(err)
		}
		if stale.Status != notify.StatusRetryReady || stale.Via != "" || stale.Calls != 0 || len(b.sent()) != 1 {
			t.Errorf("%d calls of the next: %+v", len(b.sent()), stale)
		}
	})
}

// A chain that was mended: what was named is there no more.
func TestAMessageWhoseChannelHasLeftTheChain(t *testing.T) {
	two(t, func(t *testing.T, h *host, b *provider) {
		h.answer = failing(busy)
		h.ensure(letter("a", "sam"))
		h.run("notify.distributor")
		h.answer = nil
		h.with(nil, h.provider)
		h.drain()
		if m := h.row("a"); m.Status != notify.StatusSentToProvider || len(h.sent()) != 2 {
			t.Errorf("%+v", m)
		}
		h.chained(carrier{b, nextKey})
		h.answer, b.answer = failing(busy), failing(io.EOF)
		h.ensure(letter("in doubt", "kim", func(m *notify.OutgoingMessage) { m.InDoubt = notify.Resend }))
		h.run("notify.distributor")
		h.run("notify.distributor")
		h.with(nil, h.provider)
		h.drain()
		if m := h.row("in doubt"); m.Status != notify.StatusOutcomeUnknown || m.Doubts != 1 || len(h.sent()) != 3 {
			t.Errorf("%d calls: %+v", len(h.sent()), m)
		}
	})
}

func TestAChainOfOneIsTheChannelItself(t *testing.T) {
	t.Parallel()
	p := &provider{}
	if c := notify.Failover(p); c != channel.Channel(p) {
		t.Errorf("it is %T", c)
	}
	chain := notify.Failover(p, carrier{&provider{}, nextKey})
	if chain.Key() != channelKey {
		t.Errorf("its key is %s", chain.Key())
	}
	if r, err := chain.Send(t.Context(), channel.Message{}); err != nil || r.ID != "accepted" || len(p.sent()) != 1 {
		t.Errorf("whoever calls it himself gets %v, %v", r, err)
	}
}

func TestAChainThatNoProgramCanMean(t *testing.T) {
	t.Parallel()
	a, b := channel.Channel(&provider{}), channel.Channel(carrier{&provider{}, nextKey})
	store := memory.New(nil)
	for want, make := range map[string]func(){
		"notify: Failover: channel 1 is nil":                                        func() { notify.Failover(nil, b) },
		"notify: Failover: channel 2 is nil":                                        func() { notify.Failover(a, nil) },
		`notify: Failover: two channels have the key "email:test"`:                  func() { notify.Failover(a, b, &provider{}) },
		`notify: Failover: channel 2, "email:second", is a chain itself`:            func() { notify.Failover(a, notify.Failover(b, carrier{&provider{}, lastKey})) },
		`notify: Failover: "email:test" and "sms:test" are of two delivery methods`: func() { notify.Failover(a, carrier{&provider{}, "sms:test"}) },
		`notify: New: two channels have the key "email:second"`:                     func() { notify.New(store, nil, notify.Failover(a, b), carrier{&provider{}, nextKey}) },
		`notify: New: channel key "E mail:x":`: func() {
			notify.New(store, nil, notify.Failover(carrier{&provider{}, "E mail:x"}, carrier{&provider{}, "E mail:y"}))
		},
	} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.HasPrefix(got, want) {
					t.Errorf("%s, want %s", got, want)
				}
			}()
			make()
		}()
	}
	notify.New(store, nil, notify.Failover(a, b), b) // the same one
}

// Polls with nothing to do, and a group that is sent, take as many statements as those
// of a plain channel.
func TestAChainCostsNoMoreStatements(t *testing.T) {
	t.Parallel()
	count := func(c channel.Channel) int {
		clk := mockClock()
		store, statements := storetest.Counting(memory.New(&memory.Options{Clock: clk}))
		h := newHost(t, store, clk, &provider{}, c)
		poll := h.distributor()
		h.letters(1)
		poll()
		h.letters(5)
		statements.Take()
		poll()
		poll()
		return statements.Count()
	}
	if one, chain := count(&provider{}), count(notify.Failover(&provider{}, carrier{&provider{}, nextKey})); one != chain {
		t.Errorf("%d statements, with a chain %d", one, chain)
	}
}
