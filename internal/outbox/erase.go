package outbox

import (
	"context"

	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage"
)

// maxErased is more than an event can have deliveries.
const maxErased = 10_000

// Erase deletes an event with its deliveries, whatever became of them, since what it
// carries may not be kept any longer. A subscriber that has it at this moment
// finishes. An unknown event is none to erase.
func Erase(ctx context.Context, tx storage.Tx, scope storage.Scope, eventKey string) error {
	prefix, err := keys.Join(eventKey)
	if err != nil {
		return err
	}
	sent, err := deliveries.Find(ctx, tx, scope, storage.Query{
		Where: []storage.Cond{storage.Greater("key", prefix+"\x1f"), storage.Less("key", prefix+"\x20")}, Limit: maxErased,
	})
	if err != nil {
		return err
	}
	if err := deliveries.Delete(ctx, tx, sent...); err != nil {
		return err
	}
	found, err := events.Find(ctx, tx, scope, storage.Query{Where: []storage.Cond{storage.Eq("key", eventKey)}, Limit: 1})
	if err != nil {
		return err
	}
	return events.Delete(ctx, tx, found...)
}
