package notify

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/belfry-go/belfry/storage"
)

// reports are the new events about one message.
type reports struct {
	message *OutgoingMessage
	events  []*deliveryEvent
}

// applyEvents brings new events into their messages, keeps the facts beside them,
// suppresses addresses, and tells the host: all in tx.
func (n *Notifier) applyEvents(ctx context.Context, tx storage.Tx, events []*deliveryEvent, found map[*deliveryEvent]*OutgoingMessage) error {
	if len(events) == 0 {
		return nil
	}
	changes, err := n.raise(ctx, tx, byMessage(events, found))
	if err != nil {
		return err
	}
	facts, err := keepFacts(ctx, tx, events, found)
	if err != nil {
		return err
	}
	for _, f := range facts {
		if f.event.Kind == KindBounced {
			changes = append(changes, f.message.bounced(f.event))
		}
	}
	if err := n.suppressFacts(ctx, tx, facts); err != nil {
		return err
	}
	return emitChanges(ctx, tx, changes)
}

func byMessage(events []*deliveryEvent, found map[*deliveryEvent]*OutgoingMessage) []*reports {
	var all []*reports
	at := map[*OutgoingMessage]*reports{}
	for _, e := range events {
		m := found[e]
		if at[m] == nil {
			at[m] = &reports{message: m}
			all = append(all, at[m])
		}
		at[m].events = append(at[m].events, e)
	}
	return all
}

// raise writes the messages. One that somebody else wrote meanwhile is read again,
// and the events are brought into what it has become.
func (n *Notifier) raise(ctx context.Context, tx storage.Tx, all []*reports) (changes []StatusChange, err error) {
	for range 5 {
		told, again, err := n.raiseOnce(ctx, tx, all)
		changes = append(changes, told...)
		if err != nil || len(again) == 0 {
			return changes, err
		}
		if all, err = reread(ctx, tx, again); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("notify: %d messages kept changing under a callback: %w", len(all), storage.ErrBusy)
}

func (n *Notifier) raiseOnce(ctx context.Context, tx storage.Tx, all []*reports) (told []StatusChange, again []*reports, err error) {
	now := storage.Now(n.store)
	var save []*OutgoingMessage
	var saved []*reports
	var news [][]StatusChange
	for _, r := range all {
		before := r.message.Status
		if r.apply(now) {
			save, saved = append(save, r.message), append(saved, r)
			news = append(news, r.message.movedFrom(before, now))
		}
	}
	err = outgoingMessages.Save(ctx, tx, save...)
	if stale := (*storage.StaleError)(nil); errors.As(err, &stale) {
		for _, i := range stale.Rows {
			again, news[i] = append(again, saved[i]), nil
		}
		err = nil
	}
	for _, some := range news {
		told = append(told, some...)
	}
	return told, again, err
}

func (r *reports) apply(now time.Time) (changed bool) {
	for _, e := range r.events {
		changed = r.message.reported(now, e) || changed
	}
	return changed
}

// reread loads messages anew; one that is gone is left out.
func reread(ctx context.Context, tx storage.Tx, all []*reports) ([]*reports, error) {
	ids := make([]string, len(all))
	for i, r := range all {
		ids[i] = r.message.MessageID
	}
	messages, err := messagesByID(ctx, tx, ids)
	var there []*reports
	for i, r := range all {
		if r.message = messages[ids[i]]; r.message != nil {
			there = append(there, r)
		}
	}
	return there, err
}
