package notify

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/storage"
)

var kinds = []StatusKind{KindAccepted, KindFailed, KindDelivered, KindOpened, KindBounced, KindComplained, KindUnsubscribed}

// highest is the model: what remains of reports in whatever order.
func highest(kinds []StatusKind) string {
	for _, k := range []StatusKind{KindOpened, KindDelivered, KindFailed} {
		for _, got := range kinds {
			if got == k {
				return statusOf[k]
			}
		}
	}
	return StatusSentToProvider
}

func TestI27_CallbacksInAnyOrderAndMultiplicityGiveTheSameStatus(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		from := rapid.SampledFrom(outgoingStates.States()).Draw(t, "from")
		some := rapid.SliceOfN(rapid.SampledFrom(kinds), 1, 6).Draw(t, "reports")
		other := rapid.Permutation(append(some, rapid.SliceOf(rapid.SampledFrom(some)).Draw(t, "again")...)).Draw(t, "other order")
		one, two := message(from), message(from)
		for _, k := range some {
			before := heights[one.Status]
			one.reported(now, &deliveryEvent{Kind: k, On: now})
			if heights[one.Status] < before || !one.DueOn.IsZero() {
				t.Fatalf("%s went down to %s", from, one.Status)
			}
		}
		for _, k := range other {
			two.reported(now, &deliveryEvent{Kind: k, On: now})
		}
		if one.Status != two.Status {
			t.Errorf("from %s: %v give %s, %v give %s", from, some, one.Status, other, two.Status)
		}
		if heights[from] == 0 && one.Status != highest(some) {
			t.Errorf("from %s: %v give %s", from, some, one.Status)
		}
	})
}

// Callbacks come in any order, several at once, while the messages are sent, while
// what is in doubt is resolved, and while a person decides about it.
func TestI27_WhateverElseIsGoingOn(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.Notifier = New(h.store, &Options{Logger: quiet}, h.provider)
		// Mandatory, or what a complaint suppresses would be skipped.
		h.Register(Type{Name: "visit", Renderer: visitTemplate, InDoubt: Resend, Mandatory: true})
		for round := range 6 {
			i27Round(h, round)
		}
	})
}

func i27Round(h *host, round int) {
	rnd := rand.New(rand.NewPCG(27, uint64(round)))
	var people []Recipient
	for i := range 12 {
		people = append(people, person(fmt.Sprint("p", i)))
	}
	h.answer = answersOf(round)
	job := visit(fmt.Sprint(round), people...)
	h.dispatch(job)
	h.run("notify.scheduler")
	h.run("notify.generator")
	messages, err := h.Messages(h.t.Context(), "tenant", job.RowKey, Page{})
	if err != nil {
		h.t.Fatal(err)
	}
	want := map[string]string{}
	var events []StatusEvent
	for _, m := range messages {
		var some []StatusKind
		for range 1 + rnd.IntN(4) {
			k := kinds[rnd.IntN(len(kinds))]
			some = append(some, k)
			events = append(events, about(&m, k))
		}
		want[m.MessageID] = highest(some)
	}
	h.atOnce(round, messages, events)
	h.clk.Add(48 * time.Hour)
	h.drain()
	messages, err = h.Messages(h.t.Context(), "tenant", job.RowKey, Page{})
	if err != nil {
		h.t.Fatal(err)
	}
	for _, m := range messages {
		if m.Status != want[m.MessageID] || !m.DueOn.IsZero() || m.IsOnSupportHold {
			h.t.Errorf("round %d: %s is %s, due %v, want %s", round, m.RecipientRef, m.Status, m.DueOn, want[m.MessageID])
		}
	}
}

// answersOf are a provider's answers, none of which is a refusal for good.
func answersOf(round int) func(context.Context, Message) (Receipt, error) {
	var mu sync.Mutex
	rnd := rand.New(rand.NewPCG(1, uint64(round)))
	return func(context.Context, Message) (Receipt, error) {
		mu.Lock()
		defer mu.Unlock()
		switch rnd.IntN(3) {
		case 0:
			return Receipt{}, Unknown("cut", nil)
		case 1:
			return Receipt{}, Transient("busy", 0, nil)
		}
		return Receipt{ID: "p"}, nil
	}
}

// atOnce lets everybody act at the same time.
func (h *host) atOnce(round int, messages []OutgoingMessage, events []StatusEvent) {
	var wg sync.WaitGroup
	for i := range 3 {
		rnd := rand.New(rand.NewPCG(uint64(i), uint64(round)))
		mine := append(append([]StatusEvent{}, events...), events[:len(events)/2]...)
		rnd.Shuffle(len(mine), func(a, b int) { mine[a], mine[b] = mine[b], mine[a] })
		wg.Go(func() {
			for len(mine) > 0 {
				n := min(len(mine), 1+rnd.IntN(9))
				if _, err := h.Track(h.t.Context(), mine[:n]...); err != nil {
					h.t.Error(err)
					return
				}
				mine = mine[n:]
			}
		})
	}
	for _, p := range h.Passes() {
		if p.Name() != "notify.distributor" && p.Name() != "notify.resolve" {
			continue
		}
		wg.Go(func() {
			r := p.Runner(work.Options{Logger: quiet})
			for range 4 {
				if _, err := r.Poll(h.t.Context(), 5); err != nil {
					h.t.Error(err)
				}
			}
		})
	}
	wg.Go(func() {
		for _, m := range messages {
			// Mostly it is refused, or the row keeps changing: a person tries.
			_ = h.Resolve(h.t.Context(), "tenant", m.Key, DecideSendAgain, support)
		}
	})
	wg.Wait()
}

// Another writer comes between the look at a message and the write.
func TestAMessageThatChangesUnderACallbackIsReadAgain(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		m := h.accepted()
		h.inOne(func(tx storage.Tx) error {
			found, err := messagesByID(t.Context(), tx, []string{m.MessageID})
			if err != nil {
				return err
			}
			seen := found[m.MessageID]
			seen.Version-- // as if somebody had written since
			e, err := about(m, KindDelivered).row(storage.Now(h.store))
			if err != nil {
				return err
			}
			_, err = h.raise(t.Context(), tx, []*reports{{seen, []*deliveryEvent{e}}})
			return err
		})
		h.status(StatusDelivered)
		h.same("content", m.Content, h.status(StatusDelivered).Content) // it was not read, and is not lost
	})
}
