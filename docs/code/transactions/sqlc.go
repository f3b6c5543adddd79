package main

import (
	"context"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/docs/code/transactions/queries"
	"github.com/belfry-go/belfry/storage"
)

func openSQLC(ctx context.Context, dsn, _ string, clk clock.Clock) (*host, error) {
	store, h, err := onPool(ctx, dsn, clk)
	if err != nil {
		return nil, err
	}
	h.renew = func(ctx context.Context, reminders *automation.Scheduler, id string, expires time.Time) error {
		return store.InHostTx(ctx, func(ctx context.Context, tx pgx.Tx, bound storage.Tx) error {
			renewed := queries.RenewCertificateParams{ID: id, ExpiresOn: pgtype.Date{Time: expires, Valid: true}}
			if err := queries.New(tx).RenewCertificate(ctx, renewed); err != nil {
				return err
			}
			return remind(ctx, reminders.WithTx(bound), id, expires)
		})
	}
	return h, nil
}
