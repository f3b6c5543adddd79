package notify

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/storage"
)

// Several groups at once make no more calls of a channel than it has slots, and a
// message is recorded as called only when it has one.
func TestAChannelHasSoManyCallsAtOnceInAProcess(t *testing.T) {
	gated(t, func(storage.Store) *Options {
		return &Options{Concurrency: 5, ChannelConcurrency: map[string]int{channelKey: 3}}
	}, func(t *testing.T, h *host) {
		var mu sync.Mutex
		running, most, recorded := 0, 0, 0
		h.answer = func(context.Context, Message) (Receipt, error) {
			mu.Lock()
			running++
			most = max(most, running)
			mu.Unlock()
			started := 0
			for _, m := range all(h, outgoingMessages) {
				if m.Status == StatusSending && !m.CallStartedOn.IsZero() {
					started++
				}
			}
			mu.Lock()
			defer mu.Unlock()
			recorded = max(recorded, started-len(h.sent())+running) // of those that did not end yet
			running--
			return Receipt{}, nil
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
	gatedInMemory(t, func(storage.Store) *Options {
		return &Options{ChannelConcurrency: map[string]int{channelKey: 1}}
	}, func(h *host) {
		h.slots[channelKey] <- struct{}{} // somebody else is calling
		h.ensure(letter("a", "sam"))
		row := h.claim([]string{StatusCreated}, StatusSending)[0]
		ended, cancel := context.WithCancel(h.t.Context())
		cancel()
		if err := h.distribute(ended, []sending{{Row: row, Ctx: ended, Lease: lease}}, landed); err != nil {
			h.t.Fatal(err)
		}
		if row.Status != StatusRetryReady || row.Calls != 0 || row.RetryCount != 0 || len(h.sent()) != 0 {
			h.t.Errorf("message is %+v", row)
		}
	})
}

// A failure before the second calls leaves the results of the first alone.
func TestCallsThatWereMadeStandThoughTheNextOnesFail(t *testing.T) {
	gatedInMemory(t, func(storage.Store) *Options {
		return &Options{ChannelConcurrency: map[string]int{channelKey: 1}}
	}, func(h *host) {
		h.ensure(letter("a", "sam"), letter("b", "kim"))
		var items []sending
		for _, m := range h.claim([]string{StatusCreated}, StatusSending) {
			items = append(items, work.Item[OutgoingMessage]{Row: m, Ctx: h.t.Context(), Lease: lease})
		}
		inner := h.store
		h.store = &flakyStore{Store: inner, armed: true, failAt: 4} // behind two gates and the first calls
		if err := h.distribute(h.t.Context(), items, landed); err != nil {
			h.t.Fatal(err)
		}
		h.store = inner
		first, second := items[0].Row, items[1].Row
		if first.Status != StatusSentToProvider || first.ProviderMessageID != "accepted" {
			h.t.Errorf("called: %+v", first)
		}
		if second.Status != StatusRetryReady || second.ReasonCode != ReasonPassFailed || second.Calls != 0 {
			h.t.Errorf("not called: %+v", second)
		}
	})
}

// bounded is a channel with a bound of its own.
type bounded struct{ Channel }

func (bounded) MaxCalls() int { return 2 }

// So many messages are started as a bounded channel can take soon; what the options
// say counts more.
func TestABoundedChannelIsNotCalledByEverybodyAtOnce(t *testing.T) {
	for name, tt := range map[string]struct {
		options Options
		want    int
	}{
		"its own bound":    {Options{}, 4},
		"the options":      {Options{ChannelConcurrency: map[string]int{channelKey: 3}}, 3},
		"a channel source": {Options{Channels: &senders{}}, 6},
	} {
		t.Run(name, func(t *testing.T) {
			visitsInMemory(t, func(h *host) {
				tt.options.CallTimeout = time.Minute
				h.Notifier = New(h.store, &tt.options, bounded{h.provider})
				begun, answer := make(chan struct{}, 6), make(chan struct{})
				h.answer = func(context.Context, Message) (Receipt, error) {
					begun <- struct{}{}
					<-answer
					return Receipt{}, nil
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
				for _, m := range all(h, outgoingMessages) {
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
		answer, heard := make(chan struct{}), make(chan StatusChange, 2)
		h.answer = func(_ context.Context, m Message) (Receipt, error) {
			if m.To == "slow@example.com" {
				<-answer
				return Receipt{}, nil
			}
			return Receipt{}, Permanent("no such mailbox", errors.New("550"))
		}
		h.Subscribe(StatusFunc("host", func(_ context.Context, c StatusChange) error {
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
		if c := <-heard; c.RecipientRef != "quick" || c.Kind != ChangeFailed {
			t.Errorf("heard of %+v", c)
		}
		close(answer)
		stop()
		passes.Wait()
	})
}
