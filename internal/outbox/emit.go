package outbox

import (
	"context"
	"fmt"

	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage"
)

// maxSubscriptions bounds what one emission looks at.
const maxSubscriptions = 10_000

// Emit stores events, in the transaction in which they happened, with a delivery
// for everybody who has subscribed to their topic so far. An event whose id is
// known is passed over, deliveries included.
func Emit(ctx context.Context, tx storage.Tx, want ...Event) error {
	rows, isNew, err := insert(ctx, tx, want)
	if err != nil {
		return err
	}
	listening, err := listeners(ctx, tx, rows)
	if err != nil {
		return err
	}
	var out []*Delivery
	for i, e := range rows {
		if isNew[i] {
			if out, err = addressed(out, e, listening[e.Type]); err != nil {
				return err
			}
		}
	}
	_, err = deliveries.Insert(ctx, tx, out...)
	return err
}

// EmitTo stores one event like [Emit], with a delivery for each of the subscribers
// instead, whether they have subscribed yet or not.
func EmitTo(ctx context.Context, tx storage.Tx, e Event, subscribers ...string) error {
	rows, isNew, err := insert(ctx, tx, []Event{e})
	if err != nil || !isNew[0] {
		return err
	}
	out, err := addressed(nil, rows[0], subscribers)
	if err != nil {
		return err
	}
	_, err = deliveries.Insert(ctx, tx, out...)
	return err
}

// insert stores events and tells which were new.
func insert(ctx context.Context, tx storage.Tx, want []Event) ([]*Event, []bool, error) {
	now := storage.Now(tx.Store())
	rows := make([]*Event, len(want))
	for i, e := range want {
		if len(e.Payload) > MaxPayload {
			return nil, nil, fmt.Errorf("outbox: event %s: a payload of %d bytes, more than %d", e.Type, len(e.Payload), MaxPayload)
		}
		e.CreatedOn = now
		rows[i] = &e
	}
	isNew, err := events.Insert(ctx, tx, rows...)
	return rows, isNew, err
}

// addressed adds the deliveries of one event.
func addressed(out []*Delivery, e *Event, subscribers []string) ([]*Delivery, error) {
	for _, subscriber := range subscribers {
		key, err := keys.Join(e.Key, subscriber)
		if err != nil {
			return nil, err
		}
		out = append(out, &Delivery{
			Record:   storage.Record{Scope: e.Scope, Key: key, Type: subscriber, Status: StatusPending, Lane: e.Lane, DueOn: e.CreatedOn},
			EventKey: e.Key, Topic: e.Type, CreatedOn: e.CreatedOn,
		})
	}
	return out, nil
}

// Listeners are those who have subscribed to a topic so far.
func Listeners(ctx context.Context, tx storage.Tx, topic string) ([]string, error) {
	found, err := listeners(ctx, tx, []*Event{{Record: storage.Record{Type: topic}}})
	return found[topic], err
}

// Wanted reports which of the topics somebody has subscribed to.
func Wanted(ctx context.Context, tx storage.Tx, topics ...string) (map[string]bool, error) {
	rows := make([]*Event, len(topics))
	for i, t := range topics {
		rows[i] = &Event{Record: storage.Record{Type: t}}
	}
	listening, err := listeners(ctx, tx, rows)
	out := map[string]bool{}
	for topic := range listening {
		out[topic] = true
	}
	return out, err
}

// listeners are the subscribers by topic.
func listeners(ctx context.Context, tx storage.Tx, rows []*Event) (map[string][]string, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	seen := map[string]bool{}
	var topics []string
	for _, e := range rows {
		if !seen[e.Type] {
			seen[e.Type], topics = true, append(topics, e.Type)
		}
	}
	found, err := subscriptions.Find(ctx, tx, "", storage.Query{
		Where: []storage.Cond{storage.In("topic", topics)}, OrderBy: "key", Limit: maxSubscriptions,
	})
	out := map[string][]string{}
	for _, s := range found {
		out[s.Topic] = append(out[s.Topic], s.Type)
	}
	return out, err
}
