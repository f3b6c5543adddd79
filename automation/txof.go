package automation

import (
	"context"

	"github.com/belfry-go/belfry/storage"
)

// txKey is where a context carries the transaction of [TxOf].
type txKey struct{}

// TxOf returns the transaction inside which a provider, a [SettingsSource],
// [Options].Zone or [ReminderType].BusinessDay is asked, and false outside of
// one. They are asked inside one for an event without a Version, and by a
// scheduler that is bound to one. Whoever keeps data in the scheduler's own
// store has to read through it then: a second transaction would wait for the
// first on a store with one writer, and would not see what the host has changed
// in it. It is over when the call returns.
func TxOf(ctx context.Context) (storage.Tx, bool) {
	tx, ok := ctx.Value(txKey{}).(storage.Tx)
	return tx, ok
}

// within makes tx known to the host's code that is called with the context; nil
// leaves the context as it is.
func within(ctx context.Context, tx storage.Tx) context.Context {
	if tx == nil {
		return ctx
	}
	return context.WithValue(ctx, txKey{}, tx)
}
