package notify

import (
	"context"

	"github.com/belfry-go/belfry/storage"
)

// findMessages finds the messages that events are about: by our id, else by the
// provider's, if the channel that sent it has left a receipt. Our ids cannot be
// guessed, and are looked up across tenants, since a callback does not name one.
func findMessages(ctx context.Context, tx storage.Tx, events []*deliveryEvent) (map[*deliveryEvent]*OutgoingMessage, error) {
	named, err := namedByReceipts(ctx, tx, events)
	if err != nil {
		return nil, err
	}
	var ids []string
	seen := map[string]bool{}
	for _, e := range events {
		if e.MessageID != "" {
			named[e] = e.MessageID
		}
		if id := named[e]; id != "" && !seen[id] {
			seen[id], ids = true, append(ids, id)
		}
	}
	messages, err := messagesByID(ctx, tx, ids)
	if err != nil {
		return nil, err
	}
	found := make(map[*deliveryEvent]*OutgoingMessage, len(events))
	for e, id := range named {
		if m := messages[id]; m != nil {
			found[e] = m
		}
	}
	return found, nil
}

// tracking are the columns of a message that a callback can matter to: all but
// what it says, which may be large.
var tracking = func() (names []string) {
	for _, c := range outgoingMessages.Columns {
		if c.Name != "content" {
			names = append(names, c.Name)
		}
	}
	return names
}()

// messagesByID reads messages by their MessageIDs, in one statement.
func messagesByID(ctx context.Context, tx storage.Tx, ids []string) (map[string]*OutgoingMessage, error) {
	found := make(map[string]*OutgoingMessage, len(ids))
	if len(ids) == 0 {
		return found, nil
	}
	rows, err := outgoingMessages.Find(ctx, tx, storage.AnyScope, storage.Query{
		Columns: tracking, Where: []storage.Cond{storage.In("message_id", ids)}, Limit: len(ids),
	})
	for _, m := range rows {
		found[m.MessageID] = m
	}
	return found, err
}
