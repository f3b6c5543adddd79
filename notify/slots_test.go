package notify_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
)

// Several groups at once make no more calls of a channel than it has slots, and a
// message is recorded as called only when it has one.
func TestAChannelHasSoManyCallsAtOnceInAProcess(t *testing.T) {
	gated(t, func(storage.Store) *notify.Options {
		return &notify.Options{Concurrency: 5, ChannelConcurrency: map[string]int{channelKey: 3}}
	}, func(t *testing.T, h *host) {
		var mu sync.Mutex
		running, most, recorded := 0, 0, 0
		h.answer = func(context.Context, channel.Message) (channel.Receipt, error) {
			mu.Lock()
			running++
			most = max(most, running)
			mu.Unlock()
			started := 0
			for _, m := range all(h, notify.Messages) {
				if m.Status == notify.StatusSending && !m.CallStartedOn.IsZero() {
					started++
				}
			}
			mu.Lock()
			defer mu.Unlock()
			recorded = max(recorded, started-len(h.sent())+running) // of those that did not end yet
			running--
			return channel.Receipt{}, nil
		}
		for i := range 20 {
			h.ensure(letter(fmt.Sprint(i), fmt.Sprint("r", i)))
		}
		h.drain()
		if most > 3 || recorded > 3 || len(h.texts()) != 20 {
			t.Errorf("%d calls at once, %d recorded, %d sent", most, recorded, len(h.texts()))
		}
	})
}

// Whoever waits for a slot when the process stops gives its messages back.
func TestAMessageThatWaitsForASlotIsGivenBackAtTheEnd(t *testing.T) {
	gatedInMemory(t, func(storage.Store) *notify.Options {
		return &notify.Options{ChannelConcurrency: map[string]int{channelKey: 1}}
	}, func(h *host) {
		h.Occupy(channelKey) // somebody else is calling
		h.ensure(letter("a", "sam"))
		row := h.claim([]string{notify.StatusCreated}, notify.StatusSending)[0]
		ended, cancel := context.WithCancel(h.t.Context())
		cancel()
		if err := h.Distribute(ended, notify.Sending{Row: row, Ctx: ended, Lease: lease}); err != nil {
			h.t.Fatal(err)
		}
		if row.Status != notify.StatusRetryReady || row.Calls != 0 || row.RetryCount != 0 || len(h.sent()) != 0 {
			h.t.Errorf("message is %+v", row)
		}
	})
}

// A failure before the second calls leaves the results of the first alone.
func TestCallsThatWereMadeStandThoughTheNextOnesFail(t *testing.T) {
	t.Parallel()
	clk := mockClock()
	flaky := newFlaky(memory.New(&memory.Options{Clock: clk}), 4, crash{})
	h := newGated(t, flaky.Spy, clk, &notify.Options{ChannelConcurrency: map[string]int{channelKey: 1}})
	h.ensure(letter("a", "sam"), letter("b", "kim"))
	var items []notify.Sending
	for _, m := range h.claim([]string{notify.StatusCreated}, notify.StatusSending) {
		items = append(items, notify.Sending{Row: m, Ctx: h.t.Context(), Lease: lease})
	}
	flaky.armed = true // behind what is out, the own gate and the first calls
	if err := h.Distribute(h.t.Context(), items...); err == nil {
		h.t.Error("nobody hears that the second write failed")
	}
	flaky.armed = false
	first, second := items[0].Row, items[1].Row
	if first.Status != notify.StatusSentToProvider || first.ProviderMessageID != "accepted" {
		h.t.Errorf("called: %+v", first)
	}
	if second.Status != notify.StatusRetryReady || second.ReasonCode != reasons.PassFailed || second.Calls != 0 {
		h.t.Errorf("not called: %+v", second)
	}
}

// bounded is a channel with a bound of its own.
type bounded struct{ channel.Channel }

func (bounded) MaxCalls() int { return 2 }

// So many messages are started as a bounded channel has connections, whether it is the
// process's own or a source chose it, and no more than the options say.
func TestABoundedChannelIsNotCalledByEverybodyAtOnce(t *testing.T) {
	for name, tt := range map[string]struct {
		options notify.Options
		want    int
	}{
		"its own bound":    {notify.Options{}, 2},
		"the options":      {notify.Options{ChannelConcurrency: map[string]int{channelKey: 1}}, 1},
		"a channel source": {notify.Options{Channels: &senders{}}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			visitsInMemory(t, func(h *host) {
				tt.options.CallTimeout = time.Minute
				h.Notifier = notify.New(h.store, &tt.options, bounded{h.provider})
				begun, answer := make(chan struct{}, 6), make(chan struct{})
				h.answer = func(context.Context, channel.Message) (channel.Receipt, error) {
					begun <- struct{}{}
					<-answer
					return channel.Receipt{}, nil
				}
				for i := range 6 {
					h.ensure(letter(fmt.Sprint(i), fmt.Sprint("r", i)))
				}
				done := make(chan struct{})
				go func() { defer close(done); h.run("notify.distributor") }()
				for range tt.want {
					<-begun
				}
				started := 0
				for _, m := range all(h, notify.Messages) {
					if !m.CallStartedOn.IsZero() {
						started++
					}
				}
				close(answer)
				<-done
				if started != tt.want || len(h.sent()) != 6 {
					t.Errorf("%d were started at once, and %d sent; want %d", started, len(h.sent()), tt.want)
				}
			})
		})
	}
}

// One slow call holds up no result of the others in its group.
func TestAResultIsKeptWhileAnotherCallGoesOn(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		answer, heard := make(chan struct{}), make(chan notify.StatusChange, 2)
		h.answer = func(_ context.Context, m channel.Message) (channel.Receipt, error) {
			if m.To == "slow@example.com" {
				<-answer
				return channel.Receipt{}, nil
			}
			return channel.Receipt{}, channel.Permanent("no such mailbox", errors.New("550"))
		}
		h.Subscribe(notify.StatusFunc("host", func(_ context.Context, c notify.StatusChange) error {
			heard <- c
			return nil
		}))
		h.run("notify.status") // keeps what happens from here on
		h.ensure(letter("quick", "quick"), letter("slow", "slow"))
		ctx, stop := context.WithCancel(t.Context())
		var passes sync.WaitGroup
		for _, p := range h.Passes() {
			passes.Go(func() { _ = p.Runner(work.Options{Logger: quiet}).Run(ctx) })
		}
		if c := <-heard; c.RecipientRef != "quick" || c.Kind != notify.ChangeFailed {
			t.Errorf("heard of %+v", c)
		}
		close(answer)
		stop()
		passes.Wait()
	})
}

// senders is a source with a channel of its own for some scopes.
type senders struct {
	mu      sync.Mutex
	asked   int
	keys    []string
	channel map[notify.Scope]channel.Channel
	broken  map[notify.Scope]error
}

func (s *senders) Keys() []string { return s.keys }

func (s *senders) Channel(_ context.Context, scope notify.Scope, key string) (channel.Channel, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	if err := s.broken[scope]; err != nil {
		if errors.Is(err, errLost) {
			panic("a password")
		}
		return s.channel[scope], err
	}
	return s.channel[scope], nil
}

func in(scope notify.Scope) func(*notify.OutgoingMessage) {
	return func(m *notify.OutgoingMessage) { m.Scope = scope }
}

func TestEachScopeSendsByItsOwnChannel(t *testing.T) {
	s := func() (*senders, map[string]*provider) {
		p := map[string]*provider{"north": {}, "south": {}}
		return &senders{keys: []string{"email:own"}, channel: map[notify.Scope]channel.Channel{"north": p["north"], "south": p["south"]}, broken: map[notify.Scope]error{}}, p
	}
	gated(t, func(storage.Store) *notify.Options { return &notify.Options{} }, func(t *testing.T, h *host) {
		source, providers := s()
		h.Notifier = notify.New(h.store, &notify.Options{Logger: quiet, Channels: source}, h.provider)
		own := func(m *notify.OutgoingMessage) { m.Channel = "email:own" }
		source.broken["west"], source.broken["south"], source.broken["east"] = errors.New("no password"), nil, errLost
		h.ensure(
			letter("north", "sam", in("north")), letter("south", "sam", in("south"), own), letter("default", "sam"),
			letter("broken", "sam", in("west")), letter("panics", "sam", in("east")), letter("nobody", "sam", own),
		)
		h.drain()
		sent := map[string]string{}
		for name, p := range map[string]*provider{"north": providers["north"], "south": providers["south"], "own": h.provider} {
			for _, m := range p.sent() {
				sent[m.Text] = name + " " + m.Channel
			}
		}
		h.same("sent", map[string]string{"north": "north " + channelKey, "south": "south email:own", "default": "own " + channelKey}, sent)
		for _, text := range []string{"broken", "panics", "nobody"} {
			if m := h.row(text); m.Status != notify.StatusRetryReady || m.ReasonCode != reasons.NoChannel || m.RetryCount != 1 || m.Calls != 0 {
				t.Errorf("%s is %+v", text, m)
			}
		}
		source.broken["west"] = nil
		h.clk.Set(latest(h.row("broken").DueOn, h.row("panics").DueOn))
		h.drain()
		if m := h.row("broken"); m.Status != notify.StatusSentToProvider {
			t.Errorf("after it was mended: %+v", m)
		}
	})
}

// The resolver asks the scope's own channel, too.
func TestADoubtIsResolvedByTheChannelOfItsScope(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.waiting()
		h.dieCalling()
		edit(h, notify.Messages, func(m *notify.MessageRow) { m.OwnAccount = true })
		h.clk.Add(lease)
		k := &knowing{provider: h.provider, knows: channel.LookupResult{Status: channel.LookupAccepted, Receipt: channel.Receipt{ID: "theirs"}}}
		source := &senders{keys: []string{channelKey}, channel: map[notify.Scope]channel.Channel{"tenant": k}, broken: map[notify.Scope]error{"tenant": errors.New("away")}}
		h.Notifier = notify.New(h.store, &notify.Options{Logger: quiet, Channels: source})
		h.drain()
		h.status(notify.StatusOutcomeUnknown)
		source.broken = nil
		h.settle()
		if m := h.status(notify.StatusSentToProvider); m.ProviderMessageID != "theirs" || k.asked != 1 {
			t.Errorf("message is %+v, asked %d times", m, k.asked)
		}
	})
}
