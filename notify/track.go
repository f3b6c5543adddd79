package notify

import (
	"context"
	"fmt"

	"github.com/belfry-go/belfry/storage"
)

// TrackReport says what became of status events.
type TrackReport struct {
	Applied  int // new, and their message is known
	Repeated int // known before: nothing was changed
	Waiting  int // new, and their message is not known yet
	Refused  int // said too little to be used; only [Notifier.Receive] passes them over
}

func (r TrackReport) add(o TrackReport) TrackReport {
	return TrackReport{r.Applied + o.Applied, r.Repeated + o.Repeated, r.Waiting + o.Waiting, r.Refused + o.Refused}
}

// maxTrack is how many events one transaction takes.
const maxTrack = 1000

// Track applies what providers report to the messages that it is about, in any
// order and however often it is told (Communication - Codebase flow, "Webhook &
// Tracker"). A message only moves up: SentToProvider, FailedFinal, Delivered,
// Opened; and neither a retry nor a take-over of it follows. That it bounced,
// that its recipient complained or unsubscribed, are [DeliveryFact] rows beside
// its status, and suppress the address.
//
// An event of which no message is known yet is kept, and its message looked for
// again after a minute, five minutes, an hour and a day, by a poller. An event is
// known again for a month by its provider and its EventID.
//
// An event that says too little is an [ErrStatusEvent], and nothing is written.
// More than 1000 events take several transactions; after an error repeat the call.
func (n *Notifier) Track(ctx context.Context, events ...StatusEvent) (rep TrackReport, err error) {
	now := storage.Now(n.store)
	rows := make([]deliveryEvent, len(events))
	for i, e := range events {
		if err := e.check(); err != nil {
			return rep, fmt.Errorf("%w: argument %d: %w", ErrStatusEvent, i+1, err)
		}
		row, err := e.row(now)
		if err != nil {
			return rep, err
		}
		rows[i] = *row
	}
	for len(rows) > 0 {
		batch := rows[:min(len(rows), maxTrack)]
		var part TrackReport
		err := n.inTx(ctx, nil, func(tx storage.Tx) (err error) {
			part, err = n.trackIn(ctx, tx, copies(batch)) // the transaction may run again
			return err
		})
		if err != nil {
			return rep, err
		}
		rep, rows = rep.add(part), rows[len(batch):]
	}
	return rep, nil
}

// trackIn keeps the events and applies those that are new.
func (n *Notifier) trackIn(ctx context.Context, tx storage.Tx, events []*deliveryEvent) (rep TrackReport, err error) {
	found, err := findMessages(ctx, tx, events)
	if err != nil {
		return rep, err
	}
	for _, e := range events {
		if found[e] != nil {
			e.matched()
		}
	}
	isNew, err := deliveryEvents.Insert(ctx, tx, events...)
	if err != nil {
		return rep, err
	}
	var apply []*deliveryEvent
	for i, e := range events {
		switch {
		case !isNew[i]:
			rep.Repeated++
		case found[e] == nil:
			rep.Waiting++
		default:
			rep.Applied++
			apply = append(apply, e)
		}
	}
	return rep, n.applyEvents(ctx, tx, apply, found)
}
