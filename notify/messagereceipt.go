package notify

import (
	"context"
	"time"

	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage"
)

// StatusByReceipt is implemented by a channel whose provider names a message in
// its callbacks by the ID of the [Receipt] only. For such a channel one more row is
// written with each message that was accepted; a callback that comes before that
// is matched a minute later. Better is a channel whose provider gives
// [Message].ID back, in a field of its own or in the address that it calls.
type StatusByReceipt interface {
	// StatusProvider is the Provider of the [Webhook] that reports about messages
	// of this channel.
	StatusProvider() string
}

// messageReceipt tells which message a provider means by an id of its own. The
// provider gave the id, so the Scope is empty.
type messageReceipt struct {
	storage.Record        // Type: the provider
	MessageID      string `db:"message_id,fixed"`
	// CreatedOn says when the row may be deleted.
	CreatedOn time.Time `db:"created_on,fixed"`
}

var messageReceipts = storage.Define[messageReceipt]("message_receipt")

func receiptKey(provider, id string) (string, error) {
	return keys.Join(provider, hashOf("belfry-receipt-1", id))
}

// keepReceipts keeps the providers' ids of messages, where callbacks need them, in
// the transaction that has settled the messages.
func (n *Notifier) keepReceipts(ctx context.Context, tx storage.Tx, rows []*OutgoingMessage) error {
	now := storage.Now(n.store)
	var keep []*messageReceipt
	for _, m := range rows {
		c, ok := n.registry.channels[m.Type].(StatusByReceipt)
		if !ok || m.ProviderMessageID == "" {
			continue
		}
		key, err := receiptKey(c.StatusProvider(), m.ProviderMessageID)
		if err != nil {
			return err
		}
		keep = append(keep, &messageReceipt{
			Record: storage.Record{Key: key, Type: c.StatusProvider()}, MessageID: m.MessageID, CreatedOn: now,
		})
	}
	_, err := messageReceipts.Insert(ctx, tx, keep...)
	return err
}

// namedByReceipts gives our ids of those events that bring only the provider's.
func namedByReceipts(ctx context.Context, tx storage.Tx, events []*deliveryEvent) (map[*deliveryEvent]string, error) {
	named := make(map[*deliveryEvent]string, len(events))
	wanted := map[string][]*deliveryEvent{}
	var list []string
	for _, e := range events {
		if e.MessageID != "" {
			continue
		}
		key, err := receiptKey(e.Type, e.ProviderMessageID)
		if err != nil {
			return nil, err
		}
		if wanted[key] == nil {
			list = append(list, key)
		}
		wanted[key] = append(wanted[key], e)
	}
	if len(list) == 0 {
		return named, nil
	}
	rows, err := messageReceipts.Find(ctx, tx, "", storage.Query{Where: []storage.Cond{storage.In("key", list)}, Limit: len(list)})
	for _, r := range rows {
		for _, e := range wanted[r.Key] {
			named[e] = r.MessageID
		}
	}
	return named, err
}
