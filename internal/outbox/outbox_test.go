package outbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/internal/outbox"
	"github.com/belfry-go/belfry/internal/permanent"
	"github.com/belfry-go/belfry/internal/pgtest"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/storage"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// world is a process with a box, and what its subscribers heard.
type world struct {
	*outbox.Box
	t      *testing.T
	store  storage.Store
	clk    *clock.Mock
	runner work.Runner

	mu    sync.Mutex
	heard []string
	fail  func(subscriber string, e outbox.Event) error
}

// worlds runs a story on every adapter, with subscribers to the topic "sent".
func worlds(t *testing.T, subscribers []string, story func(w *world)) {
	t.Helper()
	t.Parallel()
	storetest.Each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		story(newWorld(t, store, clk, subscribers...))
	})
}

func newWorld(t *testing.T, store storage.Store, clk *clock.Mock, subscribers ...string) *world {
	w := &world{Box: outbox.New(store, "outbox", slog.New(slog.DiscardHandler)), t: t, store: store, clk: clk}
	for _, key := range subscribers {
		w.Subscribe(outbox.Subscriber{Key: key, Topics: []string{"sent"}, Dispatch: func(_ context.Context, e outbox.Event) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.heard = append(w.heard, fmt.Sprintf("%s: %s %s", key, e.Key, e.Payload))
			if w.fail != nil {
				return w.fail(key, e)
			}
			return nil
		}})
	}
	w.runner = w.Pass().Runner(work.Options{Logger: slog.New(slog.DiscardHandler)})
	w.drain()
	return w
}

func (w *world) drain() {
	w.t.Helper()
	for {
		rep, err := w.runner.Poll(w.t.Context(), 100)
		if err != nil {
			w.t.Fatal(err)
		}
		if rep.Claimed == 0 {
			return
		}
	}
}

func (w *world) tx(f func(tx storage.Tx) error) {
	w.t.Helper()
	if err := w.store.InTx(w.t.Context(), f); err != nil {
		w.t.Fatal(err)
	}
}

func event(id string) outbox.Event {
	return outbox.Event{Scope: "north", Key: id, Topic: "sent", Payload: json.RawMessage(`{"n":1}`)}
}

func (w *world) emit(ids ...string) {
	w.t.Helper()
	var all []outbox.Event
	for _, id := range ids {
		all = append(all, event(id))
	}
	w.tx(func(tx storage.Tx) error { return outbox.Emit(w.t.Context(), tx, all...) })
}

// hear compares what was heard since the last time.
func (w *world) hear(want ...string) {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	count := map[string]int{}
	for _, line := range w.heard {
		count[line]++
	}
	expected := map[string]int{}
	for _, line := range want {
		expected[line+` {"n":1}`]++
	}
	if diff := cmp.Diff(expected, count); diff != "" {
		w.t.Error(diff)
	}
	w.heard = nil
}

// states are the deliveries of an event as "subscriber status attempts".
func (w *world) states(id string) (out []string) {
	w.t.Helper()
	w.tx(func(tx storage.Tx) error {
		rows, err := outbox.Deliveries(w.t.Context(), tx, "north", id)
		out = nil
		for _, d := range rows {
			out = append(out, fmt.Sprint(d.Subscriber, " ", d.Status, " ", d.Attempts))
		}
		return err
	})
	return out
}

func (w *world) want(id string, states ...string) {
	w.t.Helper()
	if diff := cmp.Diff(states, w.states(id)); diff != "" {
		w.t.Error(diff)
	}
}

func TestI24_EverySubscriberHearsOfAnEventOnce(t *testing.T) {
	worlds(t, []string{"crm", "desk"}, func(w *world) {
		w.emit("e1", "e2", "e1") // said twice in one transaction
		w.emit("e2")             // and again
		w.drain()
		w.drain()
		w.hear("crm: e1", "desk: e1", "crm: e2", "desk: e2")
		w.want("e1", "crm Dispatched 0", "desk Dispatched 0")
	})
}

func TestAnotherProcessEmitsForSubscribersElsewhere(t *testing.T) {
	worlds(t, []string{"crm"}, func(w *world) {
		web := newWorld(w.t, w.store, w.clk) // a process without subscribers
		web.emit("e1")
		web.drain()
		web.hear()
		w.drain()
		w.hear("crm: e1")
	})
}

func TestWhatIsRolledBackIsNotHeardOf(t *testing.T) {
	worlds(t, []string{"crm"}, func(w *world) {
		no := errors.New("no")
		err := w.store.InTx(w.t.Context(), func(tx storage.Tx) error {
			return errors.Join(outbox.Emit(w.t.Context(), tx, event("e1")), no)
		})
		if !errors.Is(err, no) {
			w.t.Error(err)
		}
		w.drain()
		w.hear()
	})
}

func TestI24_AFailureIsTriedAgainThenADeadLetterThenReplayed(t *testing.T) {
	worlds(t, []string{"crm", "desk"}, func(w *world) {
		w.fail = func(subscriber string, _ outbox.Event) error {
			if subscriber == "crm" {
				return errors.New("down")
			}
			return nil
		}
		w.emit("e1")
		w.drain()
		w.want("e1", "crm Pending 1", "desk Dispatched 0")
		w.hear("crm: e1", "desk: e1")
		calls := 1
		for ; w.states("e1")[0] != "crm DeadLetter 9"; calls++ {
			if calls > 9 {
				w.t.Fatal(w.states("e1"))
			}
			w.drain()
			w.clk.Add(30 * time.Hour)
			w.drain()
		}
		w.clk.Add(1000 * time.Hour)
		w.drain()
		w.mu.Lock()
		if len(w.heard) != 8 {
			w.t.Errorf("%d calls after the first: %q", len(w.heard), w.heard)
		}
		w.heard, w.fail = nil, nil
		w.mu.Unlock()
		w.replay(1, true)
		w.drain()
		w.hear()
		w.replay(1, false)
		w.drain()
		w.hear("crm: e1")
		w.want("e1", "crm Dispatched 0", "desk Dispatched 0")
		w.replay(0, false)
	})
}

func (w *world) replay(want int, dryRun bool) {
	w.t.Helper()
	w.tx(func(tx storage.Tx) error {
		n, err := outbox.ReplayDead(w.t.Context(), tx, "north", "crm", audit.By{Actor: "sam", Reason: "it is up again"}, &audit.Options{DryRun: dryRun})
		if n != want {
			w.t.Errorf("%d replayed, want %d", n, want)
		}
		return err
	})
}

// A subscriber that is gone for good gets nothing more, and what waits for it is no more.
func TestASubscriberThatIsGoneLeavesNothing(t *testing.T) {
	worlds(t, []string{"crm", "erp"}, func(w *world) {
		w.drain()
		w.emit("e1", "e2")
		for n, dry := range []bool{true, false, false} {
			w.tx(func(tx storage.Tx) error {
				got, err := outbox.Unsubscribe(w.t.Context(), tx, "crm", audit.By{Actor: "sam", Reason: "it was switched off"}, &audit.Options{DryRun: dry})
				if want := []int{2, 2, 0}[n]; got != want {
					w.t.Errorf("%d were deleted, want %d", got, want)
				}
				return err
			})
		}
		w.emit("e3")
		for _, id := range []string{"e1", "e2", "e3"} {
			w.want(id, "erp Pending 0")
		}
		w.tx(func(tx storage.Tx) error {
			done, _, err := audit.Newest(w.t.Context(), tx, "north", storage.Page{})
			if len(done) != 2 || done[0].Action != "Unsubscribe" || done[0].Actor != "sam" {
				w.t.Errorf("the audit has %+v", done)
			}
			return err
		})
	})
}

func TestAPermanentErrorIsADeadLetterAtOnce(t *testing.T) {
	worlds(t, []string{"crm"}, func(w *world) {
		w.fail = func(string, outbox.Event) error { return permanent.Mark(errors.New("no such ticket")) }
		w.emit("e1")
		w.drain()
		w.want("e1", "crm DeadLetter 1")
	})
}

func TestASubscriberThatPanicsHasFailed(t *testing.T) {
	worlds(t, []string{"crm"}, func(w *world) {
		w.fail = func(string, outbox.Event) error { panic("at the crm") }
		w.emit("e1")
		w.drain()
		w.want("e1", "crm Pending 1")
	})
}

// A process dies in the call: nobody knows whether it arrived, so it is called
// again, with the same event id.
func TestI24_AProcessThatDiesInACallLeadsToAnother(t *testing.T) {
	worlds(t, []string{"crm"}, func(w *world) {
		w.emit("e1")
		ctx, die := context.WithCancel(w.t.Context())
		w.fail = func(string, outbox.Event) error { die(); <-ctx.Done(); return ctx.Err() }
		if _, err := w.Pass().Runner(work.Options{Logger: slog.New(slog.DiscardHandler)}).Poll(ctx, 10); err != nil && !errors.Is(err, context.Canceled) {
			w.t.Fatal(err)
		}
		w.fail = nil
		w.clk.Add(time.Hour)
		w.drain()
		w.clk.Add(time.Hour)
		w.drain()
		w.hear("crm: e1", "crm: e1")
	})
}

func TestI24_NoSuccessIsReplayedButByAPerson(t *testing.T) {
	worlds(t, []string{"crm"}, func(w *world) {
		w.emit("e1")
		w.drain()
		w.hear("crm: e1")
		by := audit.By{Actor: "sam", Reason: "they lost it"}
		w.tx(func(tx storage.Tx) error { return outbox.Replay(w.t.Context(), tx, "north", "e1\x1fcrm", by) })
		err := w.store.InTx(w.t.Context(), func(tx storage.Tx) error {
			return outbox.Replay(w.t.Context(), tx, "north", "e1\x1fcrm", by)
		})
		if !errors.Is(err, audit.ErrActionRefused) {
			w.t.Error(err)
		}
		w.drain()
		w.hear("crm: e1")
	})
}

func TestI28_DeadLettersAreOfOneScope(t *testing.T) {
	worlds(t, []string{"crm"}, func(w *world) {
		w.fail = func(string, outbox.Event) error { return permanent.Mark(errors.New("no such ticket")) }
		w.emit("e1")
		w.drain()
		for scope, want := range map[storage.Scope]int{"north": 1, "south": 0} {
			w.tx(func(tx storage.Tx) error {
				dead, _, err := outbox.DeadLetters(w.t.Context(), tx, scope, "crm", storage.Page{})
				if len(dead) != want {
					w.t.Errorf("%s: %d", scope, len(dead))
				}
				return err
			})
		}
	})
}

func TestWantedTellsWhatSomebodySubscribedTo(t *testing.T) {
	worlds(t, []string{"crm"}, func(w *world) {
		w.tx(func(tx storage.Tx) error {
			got, err := outbox.Wanted(w.t.Context(), tx, "sent", "opened")
			if diff := cmp.Diff(map[string]bool{"sent": true}, got); diff != "" {
				w.t.Error(diff)
			}
			return err
		})
	})
}

func TestAPayloadThatIsTooLargeIsRefused(t *testing.T) {
	worlds(t, nil, func(w *world) {
		e := event("e1")
		e.Payload = json.RawMessage(`"` + strings.Repeat("x", outbox.MaxPayload) + `"`)
		err := w.store.InTx(w.t.Context(), func(tx storage.Tx) error { return outbox.Emit(w.t.Context(), tx, e) })
		if err == nil || !strings.Contains(err.Error(), "a payload of 1179650 bytes") {
			w.t.Error(err)
		}
	})
}
