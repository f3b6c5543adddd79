package main

import (
	"context"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/jmoiron/sqlx"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/storage/postgres"
)

type sqlxHost struct {
	db    *sqlx.DB
	store *postgres.Store
}

func openSQLX(ctx context.Context, dsn, _ string, clk clock.Clock) (*host, error) {
	options := &postgres.Options{Clock: clk, Migrate: postgres.MigrateAuto}
	db, err := sqlx.ConnectContext(ctx, "pgx", dsn)
	if err != nil {
		return nil, err
	}
	store, err := postgres.New(ctx, db.DB, options)
	if err != nil {
		return nil, err
	}
	h := sqlxHost{db, store}
	renew := func(ctx context.Context, reminders *automation.Scheduler, id string, expires time.Time) error {
		return repeat(func() error { return h.renew(ctx, reminders, id, expires) })
	}
	return &host{store: store, renew: renew, db: db.DB, close: func() { _ = db.Close() }}, nil
}

func (h sqlxHost) renew(ctx context.Context, reminders *automation.Scheduler, id string, expires time.Time) error {
	tx, err := h.db.BeginTxx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	row := map[string]any{"id": id, "expires_on": expires}
	if _, err := tx.NamedExecContext(ctx, "UPDATE certificate SET expires_on = :expires_on WHERE id = :id", row); err != nil {
		return err
	}
	if err := remind(ctx, reminders.WithTx(h.store.Join(tx)), id, expires); err != nil {
		return err
	}
	return tx.Commit()
}
