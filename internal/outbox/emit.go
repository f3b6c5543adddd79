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
	if len(want) == 0 {
		return nil
	}
	now := storage.Now(tx.Store())
	rows := make([]*Event, len(want))
	for i, e := range want {
		if len(e.Payload) > MaxPayload {
			return fmt.Errorf("outbox: event %s: a payload of %d bytes, more than %d", e.Type, len(e.Payload), MaxPayload)
		}
		e.CreatedOn = now
		rows[i] = &e
	}
	isNew, err := events.Insert(ctx, tx, rows...)
	if err != nil {
		return err
	}
	listening, err := listeners(ctx, tx, rows)
	if err != nil {
		return err
	}
	var out []*Delivery
	for i, e := range rows {
		for _, subscriber := range listening[e.Type] {
			if !isNew[i] {
				continue
			}
			key, err := keys.Join(e.Key, subscriber)
			if err != nil {
				return err
			}
			out = append(out, &Delivery{
				Record:   storage.Record{Scope: e.Scope, Key: key, Type: subscriber, Status: StatusPending, Lane: e.Lane, DueOn: now},
				EventKey: e.Key, Topic: e.Type, CreatedOn: now,
			})
		}
	}
	_, err = deliveries.Insert(ctx, tx, out...)
	return err
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
