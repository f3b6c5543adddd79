package main

import (
	"context"
	"database/sql"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
)

// renew gives a certificate another date. Set replaces the list of its reminders: that of
// the old date is withdrawn.
func (a *app) renew(ctx context.Context, id string, expires automation.Date) error {
	return a.store.InHostTx(ctx, func(ctx context.Context, tx *sql.Tx, bound storage.Tx) error {
		if _, err := tx.ExecContext(ctx, "REPLACE INTO certificate VALUES (?, ?)", id, expires.String()); err != nil {
			return err
		}
		_, err := a.certificates.In(bound).Set(ctx, automation.About{ID: id}, automation.DaysBefore(expires, 30))
		return err
	})
}

// revoke withdraws its reminders.
func (a *app) revoke(ctx context.Context, id string) error {
	_, err := a.certificates.Clear(ctx, automation.About{ID: id})
	return err
}

// holder is called when a reminder is due: who gets it?
func holder(context.Context, automation.Due) ([]notify.Recipient, error) {
	return []notify.Recipient{{Ref: "sam", Channel: "email:print", Address: "sam@example.com"}}, nil
}
