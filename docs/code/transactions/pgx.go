package main

import (
	"context"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/storage"
	belfrypgx "github.com/belfry-go/belfry/storage/pgx"
)

// onPool opens a store on a pool of pgx.
func onPool(ctx context.Context, dsn string, clk clock.Clock) (*belfrypgx.Store, *host, error) {
	options := &belfrypgx.Options{Clock: clk, Migrate: belfrypgx.MigrateAuto}
	pool, err := pgxpool.New(ctx, dsn)
	if err != nil {
		return nil, nil, err
	}
	store, err := belfrypgx.New(ctx, pool, options)
	if err != nil {
		return nil, nil, err
	}
	db := stdlib.OpenDBFromPool(pool)
	return store, &host{store: store, db: db, close: func() {
		_, _ = db.Close(), store.Close()
		pool.Close()
	}}, nil
}

func openPGX(ctx context.Context, dsn, _ string, clk clock.Clock) (*host, error) {
	store, h, err := onPool(ctx, dsn, clk)
	if err != nil {
		return nil, err
	}
	h.renew = func(ctx context.Context, reminders *automation.Scheduler, id string, expires time.Time) error {
		return store.InHostTx(ctx, func(ctx context.Context, tx pgx.Tx, bound storage.Tx) error {
			if _, err := tx.Exec(ctx, "UPDATE certificate SET expires_on = $1 WHERE id = $2", expires, id); err != nil {
				return err
			}
			return remind(ctx, reminders.WithTx(bound), id, expires)
		})
	}
	return h, nil
}
