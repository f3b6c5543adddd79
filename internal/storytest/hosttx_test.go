package storytest

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/belfry-go/belfry/storage"
)

// Who forgets WithTx inside of the host's transaction hears of it, and nothing outlives the
// roll-back.
func TestACallThatForgetsTheHostsTransactionIsRefused(t *testing.T) {
	each(t, func(w *world) {
		store, ok := w.store.(interface {
			InHostTx(ctx context.Context, f func(ctx context.Context, tx *sql.Tx, bound storage.Tx) error) error
		})
		if !ok {
			w.Skip("needs transactions of database/sql")
		}
		p := w.program(w.store)
		w.visited(p.surveys, 0)
		calls := map[string]func(context.Context, program) error{
			"Ensure": func(ctx context.Context, p program) error {
				_, err := p.reminders.Ensure(ctx, expiring("sam", 3))
				return err
			},
			"Explain": func(ctx context.Context, p program) error { _, err := p.reminders.Explain(ctx, "", "a"); return err },
			"Notify": func(ctx context.Context, p program) error {
				_, err := p.messages.Notify(ctx, invoice("sam"))
				return err
			},
			"Ingest": func(ctx context.Context, p program) error { _, err := p.surveys.Ingest(ctx, visit("sam")); return err },
			"Health": func(ctx context.Context, p program) error {
				_, err := p.surveys.Health(ctx, storage.Everywhere())
				return err
			},
		}
		for name, call := range calls {
			err := store.InHostTx(w.Context(), func(ctx context.Context, _ *sql.Tx, _ storage.Tx) error { return call(ctx, p) })
			if !errors.Is(err, storage.ErrJoined) {
				w.Errorf("%s, not bound: %v", name, err)
			}
		}
		p.asks("sam", storage.Created) // nothing of it was there
		for name, call := range calls {
			err := store.InHostTx(w.Context(), func(ctx context.Context, _ *sql.Tx, bound storage.Tx) error {
				return call(ctx, program{w, w.store, p.reminders.WithTx(bound), p.messages.WithTx(bound), p.surveys.WithTx(bound)})
			})
			if errors.Is(err, storage.ErrJoined) {
				w.Errorf("%s, bound: %v", name, err)
			}
		}
	})
}
