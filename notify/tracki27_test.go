package notify_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
)

var kinds = []notify.StatusKind{notify.KindAccepted, notify.KindFailed, notify.KindDelivered, notify.KindOpened, notify.KindBounced, notify.KindComplained, notify.KindUnsubscribed}

// highest is the model: what remains of reports in whatever order.
func highest(kinds []notify.StatusKind) string {
	switch {
	case slices.Contains(kinds, notify.KindOpened):
		return notify.StatusOpened
	case slices.Contains(kinds, notify.KindDelivered):
		return notify.StatusDelivered
	case slices.Contains(kinds, notify.KindFailed):
		return notify.StatusFailedFinal
	}
	return notify.StatusSentToProvider
}

// Callbacks come in any order, several at once, while the messages are sent, while
// what is in doubt is resolved, and while a person decides about it.
func TestI27_WhateverElseIsGoingOn(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.Notifier = notify.New(h.store, &notify.Options{Logger: quiet}, h.provider)
		// Mandatory, or what a complaint suppresses would be skipped.
		h.Register(notify.Type{Name: "visit", Renderer: visitTemplate, InDoubt: notify.Resend, Mandatory: true})
		for round := range 6 {
			i27Round(h, round)
		}
	})
}

func i27Round(h *host, round int) {
	rnd := rand.New(rand.NewPCG(27, uint64(round)))
	var people []notify.Recipient
	for i := range 12 {
		people = append(people, person(fmt.Sprint("p", i)))
	}
	h.answer = answersOf(round)
	job := visit(fmt.Sprint(round), people...)
	h.dispatch(job)
	h.run("notify.scheduler")
	h.run("notify.generator")
	messages, _, err := h.Support().Messages(h.t.Context(), "tenant", job.RowKey, storage.Page{})
	if err != nil {
		h.t.Fatal(err)
	}
	want := map[string]string{}
	var events []notify.StatusEvent
	for _, m := range messages {
		var some []notify.StatusKind
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
	messages, _, err = h.Support().Messages(h.t.Context(), "tenant", job.RowKey, storage.Page{})
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
func answersOf(round int) func(context.Context, notify.Message) (notify.Receipt, error) {
	var mu sync.Mutex
	rnd := rand.New(rand.NewPCG(1, uint64(round)))
	return func(context.Context, notify.Message) (notify.Receipt, error) {
		mu.Lock()
		defer mu.Unlock()
		switch rnd.IntN(3) {
		case 0:
			return notify.Receipt{}, notify.Unknown("cut", nil)
		case 1:
			return notify.Receipt{}, notify.Transient("busy", 0, nil)
		}
		return notify.Receipt{ID: "p"}, nil
	}
}

// atOnce lets everybody act at the same time.
func (h *host) atOnce(round int, messages []notify.OutgoingMessage, events []notify.StatusEvent) {
	var wg sync.WaitGroup
	for i := range 3 {
		rnd := rand.New(rand.NewPCG(uint64(i), uint64(round)))
		mine := append(append([]notify.StatusEvent{}, events...), events[:len(events)/2]...)
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
			_ = h.Support().Resolve(h.t.Context(), "tenant", m.Key, notify.DecideSendAgain, support)
		}
	})
	wg.Wait()
}

// Another writer comes between the look at a message and the write.
func TestAMessageThatChangesUnderACallbackIsReadAgain(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		m := h.accepted()
		h.inOne(func(tx storage.Tx) error {
			return h.TrackStale(t.Context(), tx, about(m, notify.KindDelivered))
		})
		h.status(notify.StatusDelivered)
		h.same("content", m.Content, h.status(notify.StatusDelivered).Content) // it was not read, and is not lost
	})
}
