package notify

import (
	"context"
	"time"

	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/storage"
)

// looked is what the tracker decided about a row: events whose message is known
// now, or rows that are old enough to be deleted.
type looked struct {
	events   []*deliveryEvent
	receipts []*messageReceipt
}

// trackerPass looks again for the messages of events that came before them, and
// deletes each hour what is older than a month.
func (n *Notifier) trackerPass() work.Pass {
	return work.Prepared(work.New(n.store, work.Spec[deliveryEvent, looked]{
		Name: "notify.tracker", Table: deliveryEvents,
		Claimable: []string{StatusWaiting, statusSweep}, Group: 500,
		Handle:   n.lookAgain,
		Dispatch: n.applyFound,
		Fail:     func(now time.Time, e *deliveryEvent, _ error) { e.DueOn = now.Add(matchWaits[0]) },
		Abandon:  func(now time.Time, e *deliveryEvent) { e.DueOn = now },
		Release:  func(now time.Time, e *deliveryEvent) { e.DueOn = now },
	}), n.prepareSweep)
}

// lookAgain gets rows of one type: the sweep, or events of one provider.
func (n *Notifier) lookAgain(ctx context.Context, items []work.Item[deliveryEvent]) (out []looked, err error) {
	out = make([]looked, len(items))
	now := storage.Now(n.store)
	if items[0].Row.Status == statusSweep {
		out[0], err = n.findOld(ctx, now, items[0].Row)
		return out, err
	}
	events := make([]*deliveryEvent, len(items))
	for i, it := range items {
		events[i] = it.Row
	}
	var found map[*deliveryEvent]*OutgoingMessage
	err = n.store.InTx(ctx, func(tx storage.Tx) error {
		found, err = findMessages(ctx, tx, events)
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, e := range events {
		if found[e] != nil {
			e.matched()
		} else {
			e.unmatched(now)
		}
	}
	return out, nil
}

// applyFound applies matched events with the transaction that settles them.
func (n *Notifier) applyFound(ctx context.Context, tx storage.Tx, done []work.Done[deliveryEvent, looked]) error {
	var events []*deliveryEvent
	for _, d := range done {
		switch d.Row.Status {
		case StatusMatched:
			events = append(events, d.Row)
		case statusSweep:
			if err := deleteOld(ctx, tx, d.Result); err != nil {
				return err
			}
		}
	}
	if len(events) == 0 {
		return nil
	}
	found, err := findMessages(ctx, tx, events)
	if err != nil {
		return err
	}
	var there []*deliveryEvent
	for _, e := range events {
		if found[e] != nil {
			there = append(there, e)
		}
	}
	return n.applyEvents(ctx, tx, there, found)
}
