package outbox

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/storage"
)

type nothing = struct{}

// group is how many calls one group of deliveries makes at once.
const group = 16

// of is the pass over the deliveries to one subscriber.
func (b *Box) of(subscriber string) work.Pass {
	types := []string{subscriber}
	return work.New(b.store, work.Spec[Delivery, nothing]{
		Name: b.name, Table: deliveries,
		Claimable: []string{StatusPending}, Busy: StatusDispatching,
		Types: func() []string { return types }, Group: group,
		Handle: b.deliver,
		Fail:   func(now time.Time, d *Delivery, err error) { d.failed(now, err.Error(), false) },
		Abandon: func(now time.Time, d *Delivery) {
			d.failed(now, "the process that called the subscriber is gone", false)
		},
		Release: func(now time.Time, d *Delivery) { d.released(now) },
	})
}

// deliver makes the calls of a group at once.
func (b *Box) deliver(ctx context.Context, items []work.Item[Delivery]) ([]nothing, error) {
	s, ok := b.subscriber(items[0].Row.Type)
	if !ok {
		return nil, fmt.Errorf("outbox: no subscriber %q here", items[0].Row.Type)
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

func (b *Box) call(it work.Item[Delivery], s Subscriber, found map[place]*Event) {
	d := it.Row
	e := found[place{d.Scope, d.EventKey}]
	now := func() time.Time { return storage.Now(b.store) }
	if e == nil {
		d.failed(now(), "the event is gone", true)
		return
	}
	err := s.call(it.Ctx, *e)
	switch {
	case err == nil:
		d.dispatched(now())
	case it.Ctx.Err() != nil:
		d.released(now()) // shutdown: the call counts for nothing
	default:
		d.failed(now(), err.Error(), errors.Is(err, ErrPermanent))
		d.postpone(now(), err)
		// The error's text may hold personal data, so it stays in the row.
		b.logger.WarnContext(it.Ctx, "belfry: a subscriber failed", "pass", b.name, "subscriber", s.Key, "id", d.ID, "attempts", d.Attempts, "status", d.Status)
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

type place struct {
	scope storage.Scope
	key   string
}

// load reads the events of a group, one statement a scope.
func (b *Box) load(ctx context.Context, items []work.Item[Delivery]) (found map[place]*Event, err error) {
	wanted := map[storage.Scope][]string{}
	for _, it := range items {
		wanted[it.Row.Scope] = append(wanted[it.Row.Scope], it.Row.EventKey)
	}
	err = b.store.InTx(ctx, func(tx storage.Tx) error {
		found = map[place]*Event{}
		for scope, keys := range wanted {
			rows, err := events.Find(ctx, tx, scope, storage.Query{Where: []storage.Cond{storage.In("key", keys)}, Limit: len(keys)})
			if err != nil {
				return err
			}
			for _, e := range rows {
				found[place{scope, e.Key}] = e
			}
		}
		return nil
	})
	return found, err
}
