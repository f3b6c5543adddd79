package outbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage"
)

// Subscriber is somebody outside who hears of events.
type Subscriber struct {
	// Key names the subscriber for ever: events wait for it under this name.
	Key    string
	Topics []string
	// Timeout bounds one call of Dispatch, in real time; zero: nothing does.
	Timeout time.Duration
	// Dispatch hands one event over. It is called from several goroutines, and
	// again until it returns nil or an error that [ErrPermanent] is in the chain
	// of. A [*WaitError] there says how long to wait at least. ctx ends when the
	// claim is lost.
	Dispatch func(ctx context.Context, e Event) error
}

// ErrPermanent in the chain of a subscriber's error says that another try would
// fail in the same way.
var ErrPermanent = errors.New("outbox: refused for good")

// maxWait bounds what a WaitError may ask for.
const maxWait = 24 * time.Hour

// WaitError is a failure after which the subscriber asks for a pause. It is
// granted up to a day, and where it is longer than that of the usual steps.
type WaitError struct {
	Wait time.Duration
	Err  error
}

func (e *WaitError) Error() string { return e.Err.Error() }

// Unwrap gives the failure itself.
func (e *WaitError) Unwrap() error { return e.Err }

// Box is the outbox of one domain in one process.
type Box struct {
	store  storage.Store
	name   string // of the pass
	logger *slog.Logger

	mu          sync.RWMutex
	subscribers map[string]Subscriber
}

// New makes a box whose pass has that name.
func New(store storage.Store, passName string, logger *slog.Logger) *Box {
	return &Box{store: store, name: passName, logger: logger, subscribers: map[string]Subscriber{}}
}

// Subscribe adds a subscriber to this process, before its pollers run. From the
// first poll on events are kept for it, also those that other processes emit. It
// panics on a key that is empty, taken or no part of a key, and without a
// function.
func (b *Box) Subscribe(s Subscriber) {
	if _, err := keys.Join(s.Key); err != nil || s.Dispatch == nil {
		panic(fmt.Sprintf("outbox: subscriber %q: it needs a function and a key that can be stored: %v", s.Key, err))
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, taken := b.subscribers[s.Key]; taken {
		panic(fmt.Sprintf("outbox: two subscribers have the key %q", s.Key))
	}
	b.subscribers[s.Key] = s
}

func (b *Box) subscriber(key string) (Subscriber, bool) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	s, ok := b.subscribers[key]
	return s, ok
}

// Keys are the subscribers of this process, sorted.
func (b *Box) Keys() []string {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return slices.Sorted(maps.Keys(b.subscribers))
}

// store the subscriptions of this process, once.
func (b *Box) prepare(ctx context.Context) error {
	var want []*subscription
	for _, key := range b.Keys() {
		s, _ := b.subscriber(key)
		for _, topic := range s.Topics {
			row, err := keys.Join(topic, key)
			if err != nil {
				return err
			}
			want = append(want, &subscription{Record: storage.Record{Key: row, Type: key}, Topic: topic})
		}
	}
	if len(want) == 0 {
		return nil
	}
	return b.store.InTx(ctx, func(tx storage.Tx) error {
		_, err := subscriptions.Insert(ctx, tx, copied(want)...)
		return err
	})
}

func copied[R any](rows []*R) []*R {
	out := make([]*R, len(rows))
	for i, r := range rows {
		r := *r // the transaction may run again
		out[i] = &r
	}
	return out
}
