package main

import (
	"context"
	"database/sql"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
)

// order takes an order, and its receipt goes out once.
func (a *app) order(ctx context.Context, id, person, address string) error {
	return a.store.InHostTx(ctx, func(ctx context.Context, tx *sql.Tx, bound storage.Tx) error {
		if _, err := tx.ExecContext(ctx, "INSERT INTO purchase VALUES (?)", id); err != nil {
			return err
		}
		_, err := a.out.WithTx(bound).Notify(ctx, notify.Job{
			Type: "receipt", RowKey: "receipt:" + id,
			Recipients: []notify.Recipient{{Ref: person, Channel: "email:print", Address: address}},
		})
		return err
	})
}
