package outbox_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/internal/outbox"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
)

func TestAnEventMayBeAddressed(t *testing.T) {
	worlds(t, []string{"crm", "desk"}, func(w *world) {
		send := func(id string, to ...string) {
			w.tx(func(tx storage.Tx) error { return outbox.EmitTo(w.t.Context(), tx, event(id), to...) })
		}
		send("e1", "desk")
		send("e1", "crm") // told before
		send("e2")
		send("e3", "later")
		w.drain()
		w.hear("desk: e1")
		w.want("e1", "desk Dispatched 0")
		w.want("e2")
		w.want("e3", "later Pending 0")
		w.tx(func(tx storage.Tx) error {
			got, err := outbox.Listeners(w.t.Context(), tx, "sent")
			if diff := cmp.Diff([]string{"crm", "desk"}, got); diff != "" {
				w.t.Error(diff)
			}
			return err
		})
	})
}

func TestI28_ASubscriberIsGivenEventsOfOneScope(t *testing.T) {
	worlds(t, []string{"crm"}, func(w *world) {
		w.tx(func(tx storage.Tx) error { return outbox.EmitTo(w.t.Context(), tx, event("e1")) })
		by := audit.By{Actor: "sam", Reason: "it is new"}
		for scope, want := range map[storage.Scope]int{"south": 0, "north": 1} {
			w.tx(func(tx storage.Tx) error {
				n, err := outbox.Readdress(w.t.Context(), tx, scope, "crm", []string{"e1", "e9"}, by, false)
				if n != want {
					w.t.Errorf("%s: %d", scope, n)
				}
				return err
			})
		}
		w.drain()
		w.hear("crm: e1")
		w.tx(func(tx storage.Tx) error {
			history, err := audit.History(w.t.Context(), tx, "north", "outbox_delivery", "e1\x1fcrm", 10)
			if len(history) != 1 || history[0].Actor != "sam" || history[0].Action != "Replay" {
				w.t.Errorf("%+v", history)
			}
			return err
		})
	})
}

// A receiver that asks for weeks is asked again after a day.
func TestAPauseHasABound(t *testing.T) {
	worlds(t, []string{"crm"}, func(w *world) {
		w.fail = func(string, outbox.Event) error {
			return &outbox.WaitError{Wait: 1000 * time.Hour, Err: errors.New("closed for the summer")}
		}
		w.emit("e1")
		w.drain()
		w.clk.Add(24*time.Hour - time.Second)
		w.drain()
		w.hear("crm: e1")
		w.clk.Add(time.Second)
		w.drain()
		w.hear("crm: e1")
		w.want("e1", "crm Pending 2")
	})
}

// With a real clock: the passes of all subscribers run until the end of the
// context, and a process without subscribers just waits for it.
func TestThePassRunsForEverySubscriber(t *testing.T) {
	t.Parallel()
	for _, keys := range [][]string{{"crm", "desk"}, nil} {
		store := memory.New(nil)
		w := newWorld(t, store, nil, keys...)
		heard := make(chan struct{}, 2)
		w.fail = func(string, outbox.Event) error { heard <- struct{}{}; return nil }
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- w.runner.Run(ctx) }()
		w.emit("e1")
		for range keys {
			<-heard
		}
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
}
