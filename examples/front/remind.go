package main

import (
	"context"
	"database/sql"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
)

// renew gives a certificate another date. What it says is all that is wanted of it: the
// reminder of the old date is withdrawn.
func (a *app) renew(ctx context.Context, id string, expires automation.Date) error {
	certificate := automation.About{Type: "certificate", Source: automation.Source{Type: "certificate", ID: id}}
	return a.store.InHostTx(ctx, func(ctx context.Context, tx *sql.Tx, bound storage.Tx) error {
		if _, err := tx.ExecContext(ctx, "REPLACE INTO certificate VALUES (?, ?)", id, expires.String()); err != nil {
			return err
		}
		_, err := a.reminders.WithTx(bound).Set(ctx, certificate, automation.Candidate{TargetDate: expires, DaysBefore: 30})
		return err
	})
}

// revoke wants nothing of it any more.
func (a *app) revoke(ctx context.Context, id string) error {
	certificate := automation.About{Type: "certificate", Source: automation.Source{Type: "certificate", ID: id}}
	_, err := a.reminders.Clear(ctx, certificate)
	return err
}

// holder is asked when a reminder is due: who hears of it?
func (a *app) holder(context.Context, automation.Due) ([]notify.Recipient, error) {
	return []notify.Recipient{{Ref: "sam", Channel: "email:print", Address: "sam@example.com"}}, nil
}
