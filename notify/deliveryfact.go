package notify

import (
	"context"
	"time"

	"github.com/belfry-go/belfry/storage"
)

// DeliveryFact is what a provider reported about a message beside its status:
// that it bounced, that its recipient complained or unsubscribed. It is written
// once and kept as long as the message.
type DeliveryFact struct {
	storage.Record           // Type: the kind
	Provider       string    `db:"provider,fixed"`
	Code           string    `db:"code,fixed"`    // the provider's, if it gave one
	Lasting        bool      `db:"lasting,fixed"` // of a bounce: the address does not exist
	On             time.Time `db:"happened_on,fixed"`
}

var deliveryFacts = storage.Define[DeliveryFact]("delivery_fact")

// Kind is KindBounced, KindComplained or KindUnsubscribed.
func (f DeliveryFact) Kind() StatusKind { return StatusKind(f.Type) }

// DeliveryFacts lists what was reported about a message of scope, by its
// MessageID, in no promised order. A message of which nothing was reported, and
// one of another scope, have none.
func (n *Notifier) DeliveryFacts(ctx context.Context, scope Scope, messageID string) ([]DeliveryFact, error) {
	within, err := under(messageID)
	if err != nil {
		return nil, err
	}
	return list(ctx, n, deliveryFacts, scope, Page{}, within)
}

// newFact is a fact that was not known before.
type newFact struct {
	event   *deliveryEvent
	message *OutgoingMessage
}

// keepFacts stores the facts among events and gives those that are new: an event
// that comes again after it was forgotten has no consequences for the second time.
func keepFacts(ctx context.Context, tx storage.Tx, events []*deliveryEvent, found map[*deliveryEvent]*OutgoingMessage) ([]newFact, error) {
	var rows []*DeliveryFact
	var facts []newFact
	for _, e := range events {
		if e.Kind != KindBounced && e.Kind != KindComplained && e.Kind != KindUnsubscribed {
			continue
		}
		m := found[e]
		rows = append(rows, &DeliveryFact{
			Record:   storage.Record{Scope: m.Scope, Key: m.MessageID + "\x1f" + e.Key, Type: string(e.Kind)},
			Provider: e.Type, Code: e.Code, Lasting: e.Lasting, On: e.On,
		})
		facts = append(facts, newFact{e, m})
	}
	isNew, err := deliveryFacts.Insert(ctx, tx, rows...)
	var out []newFact
	for i, f := range facts {
		if err == nil && isNew[i] {
			out = append(out, f)
		}
	}
	return out, err
}
