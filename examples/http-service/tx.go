package main

import (
	"context"
	"database/sql"
	"errors"

	"github.com/belfry-go/belfry/storage"
)

// inTx runs f in one transaction of the service, and again where the database
// asks for that.
func (a api) inTx(ctx context.Context, f func(*sql.Tx) error) error {
	for {
		err := a.once(ctx, f)
		if !errors.Is(err, storage.ErrRetryTx) || ctx.Err() != nil {
			return err
		}
	}
}

func (a api) once(ctx context.Context, f func(*sql.Tx) error) error {
	tx, err := a.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // after a commit it does nothing
	if err := f(tx); err != nil {
		return err
	}
	return tx.Commit()
}
