package main

import (
	"context"
	"database/sql"
	"time"

	"github.com/benbjohnson/clock"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/postgres"
	"github.com/belfry-go/belfry/storage/sqlite"
)

// sqlStore is a store on database/sql, of PostgreSQL or of SQLite.
type sqlStore interface {
	storage.Store
	DB() *sql.DB
	InHostTx(ctx context.Context, f func(ctx context.Context, tx *sql.Tx, bound storage.Tx) error) error
	Close() error
}

func onSQL(store sqlStore) *host {
	renew := func(ctx context.Context, reminders *automation.Scheduler, id string, expires time.Time) error {
		return store.InHostTx(ctx, func(ctx context.Context, tx *sql.Tx, bound storage.Tx) error {
			if _, err := tx.ExecContext(ctx, "UPDATE certificate SET expires_on = $1 WHERE id = $2", expires, id); err != nil {
				return err
			}
			return remind(ctx, reminders.WithTx(bound), id, expires)
		})
	}
	return &host{store: store, renew: renew, db: store.DB(), close: func() { _ = store.Close() }}
}

// openPQ has Belfry make the pool.
func openPQ(ctx context.Context, dsn, _ string, clk clock.Clock) (*host, error) {
	store, err := postgres.Open(ctx, dsn, &postgres.Options{Clock: clk})
	if err != nil {
		return nil, err
	}
	return onSQL(store), nil
}

// openStdlib has a pool of its own.
func openStdlib(ctx context.Context, dsn, _ string, clk clock.Clock) (*host, error) {
	options := &postgres.Options{Clock: clk, Migrate: postgres.MigrateAuto}
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		return nil, err
	}
	store, err := postgres.New(ctx, db, options)
	if err != nil {
		return nil, err
	}
	return onSQL(store), nil
}

func openSQLite(ctx context.Context, _, file string, clk clock.Clock) (*host, error) {
	store, err := sqlite.Open(ctx, file, &sqlite.Options{Clock: clk})
	if err != nil {
		return nil, err
	}
	return onSQL(store), nil
}
