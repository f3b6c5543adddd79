// Package outbox carries events from the transaction in which something happened
// to subscribers outside: one row for the event, and one for its delivery to each
// subscriber, which is tried a bounded number of times, then put aside as a dead
// letter, and may be replayed (Triggers & Scheduler, "Transactional outbox").
//
// A subscriber is called at least once: a process that dies in a call, or whose
// answer is lost, leads to another. The event's ID is the same each time. After a
// recorded success it is not called again, unless a person replays it.
package outbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/belfry-go/belfry/internal/permanent"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// Subscriber receives events.
type Subscriber struct {
	// Key names the subscriber for ever: events wait for it under this name.
	Key    string
	Topics []string
	// Timeout bounds one call of Dispatch, in real time; zero: nothing does.
	Timeout time.Duration
	// Dispatch hands one event over. It is called from several goroutines, and
	// again until it returns nil or an error that is permanent (package permanent).
	// A [*WaitError] in the chain says how long to wait at least. ctx ends when the
	// claim is lost.
	Dispatch func(ctx context.Context, e Event) error
}

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
			want = append(want, &subscription{Record: storage.Record{Key: row, Kind: key}, Topic: topic})
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

// Pass delivers what is due to the subscribers of this process. Each has a pass of its
// own, so that a slow one with a long backlog does not delay the others.
func (b *Box) Pass() work.Pass { return work.Prepared(fan{b}, b.prepare) }

type fan struct{ box *Box }

func (f fan) Name() string { return f.box.name }

func (f fan) Runner(o work.Options) work.Runner {
	return &fanRunner{box: f.box, o: o, runners: map[string]work.Runner{}}
}

// fanRunner has a runner for each subscriber.
type fanRunner struct {
	box *Box
	o   work.Options

	mu      sync.Mutex
	runners map[string]work.Runner
	running []work.Runner // of Run
}

// all are the runners, those of new subscribers included.
func (r *fanRunner) all() []work.Runner {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []work.Runner
	for _, key := range r.box.Keys() {
		if r.runners[key] == nil {
			r.runners[key] = r.box.of(key).Runner(r.o)
		}
		out = append(out, r.runners[key])
	}
	return out
}

// Poll polls for all subscribers side by side.
func (r *fanRunner) Poll(ctx context.Context, batch int) (work.Report, error) {
	runners := r.all()
	reports, errs := make([]work.Report, len(runners)), make([]error, len(runners))
	var polls sync.WaitGroup
	for i, runner := range runners {
		polls.Go(func() { reports[i], errs[i] = runner.Poll(ctx, batch) })
	}
	polls.Wait()
	var sum work.Report
	for _, rep := range reports {
		sum = sum.Add(rep)
	}
	return sum, errors.Join(errs...)
}

// Liveness has those of the subscribers.
func (r *fanRunner) Liveness() (all []work.Liveness) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, runner := range r.running {
		all = append(all, runner.Liveness()...)
	}
	return all
}

// Run runs for the subscribers that there are when it begins.
func (r *fanRunner) Run(ctx context.Context) error {
	runners := r.all()
	r.mu.Lock()
	r.running = runners
	r.mu.Unlock()
	errs := make([]error, len(runners))
	var runs sync.WaitGroup
	for i, runner := range runners {
		runs.Go(func() { errs[i] = runner.Run(ctx) })
	}
	<-ctx.Done()
	runs.Wait()
	for _, err := range errs {
		if err != ctx.Err() { // it says more
			return err
		}
	}
	return ctx.Err()
}

type nothing = struct{}

// callTimeout is how long a subscriber may be at a group, whatever its own Timeout.
const callTimeout = time.Hour

// group is how many calls one group of deliveries makes at once.
const group = 16

// of is the pass over the deliveries to one subscriber.
func (b *Box) of(subscriber string) work.Pass {
	types := []string{subscriber}
	return work.New(b.store, work.Spec[deliveryRow, nothing]{
		Name: b.name, Table: deliveries,
		Claimable: []string{StatusPending}, Busy: StatusDispatching,
		Types: func() []string { return types }, Group: group,
		Limit:  func(string) time.Duration { return callTimeout },
		Handle: b.deliver,
		Fail:   func(now time.Time, d *deliveryRow, err error) { d.failed(now, err.Error(), "", false) },
		Abandon: func(now time.Time, d *deliveryRow) {
			d.failed(now, "the process that called the subscriber has died", "", false)
		},
		Release: func(now time.Time, d *deliveryRow) { d.released(now) },
	})
}

// deliver makes the calls of a group at once.
func (b *Box) deliver(ctx context.Context, items []work.Item[deliveryRow]) ([]nothing, error) {
	s, ok := b.subscriber(items[0].Row.Kind)
	if !ok {
		return nil, fmt.Errorf("outbox: this process has no subscriber %q", items[0].Row.Kind)
	}
	found, err := b.load(ctx, items)
	if err != nil {
		return nil, err
	}
	var calls sync.WaitGroup
	for _, it := range items {
		calls.Go(func() { b.call(it, s, found) })
	}
	calls.Wait()
	return make([]nothing, len(items)), nil
}

func (b *Box) call(it work.Item[deliveryRow], s Subscriber, found map[driver.ScopedKey]*eventRow) {
	d := it.Row
	e := found[driver.ScopedKey{Scope: d.Scope, Key: d.EventKey}]
	now := func() time.Time { return driver.Now(b.store) }
	if e == nil {
		d.failed(now(), "the event was deleted", "", true)
		return
	}
	noted := &atomic.Value{}
	err := s.call(context.WithValue(it.Ctx, noteKey{}, noted), e.view())
	messageID, _ := noted.Load().(string)
	switch {
	case err == nil:
		d.dispatched(now(), messageID)
		tally(it.Ctx, nil)
	case work.Interrupted(it.Ctx):
		d.released(now()) // shutdown: the call counts for nothing
	default:
		d.failed(now(), err.Error(), messageID, permanent.Is(err))
		tally(it.Ctx, err)
		d.postpone(now(), err)
		// The error's text may hold personal data, so it stays in the row.
		b.logger.WarnContext(it.Ctx, "belfry: a subscriber failed", "subscriber", s.Key, "pass", b.name, "id", d.ID, "attempts", d.Attempts, "status", d.Status)
	}
}

// call bounds one call, and keeps its panic.
func (s Subscriber) call(ctx context.Context, e Event) error {
	if s.Timeout > 0 {
		bounded, cancel := context.WithTimeout(ctx, s.Timeout)
		defer cancel()
		ctx = bounded
	}
	return work.Guard(func() error { return s.Dispatch(ctx, e) })
}

// load reads the events of a group.
func (b *Box) load(ctx context.Context, items []work.Item[deliveryRow]) (found map[driver.ScopedKey]*eventRow, err error) {
	places := make([]driver.ScopedKey, len(items))
	for i, it := range items {
		places[i] = driver.ScopedKey{Scope: it.Row.Scope, Key: it.Row.EventKey}
	}
	err = b.store.View(ctx, func(from driver.Reader) (err error) {
		found, err = events.GetMany(ctx, from, places)
		return err
	})
	return found, err
}
