package notify

import (
	"context"
	"fmt"
	"sync"
	"testing"

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
			recorded = max(recorded, started-len(h.calls)+running) // of those that did not end yet
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
		if _, err := h.distribute(ended, []sending{{Row: row, Ctx: ended, Lease: lease}}); err != nil {
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
		if _, err := h.distribute(h.t.Context(), items); err != nil {
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
