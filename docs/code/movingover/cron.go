package movingover

import (
	"context"
	"database/sql"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
)

// everyMorning is the cron job of before: it asks for one day's rows, sends, and notes so.
// If it dies between the two, the mail goes out again; if it does not run on a day, never.
func everyMorning(ctx context.Context, db *sql.DB, today string, send func(to, subject string) error) error {
	rows, err := db.QueryContext(ctx, "SELECT id, email FROM certificate WHERE date(expires, '-30 days') = ? AND sent_at IS NULL", today)
	if err != nil {
		return err
	}
	defer rows.Close()
	due := map[string]string{}
	for rows.Next() {
		var id, email string
		if err := rows.Scan(&id, &email); err != nil {
			return err
		}
		due[id] = email
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for id, email := range due {
		// … and for each of them
		if err := send(email, "Your certificate expires in 30 days"); err != nil {
			return err
		}
		if _, err := db.ExecContext(ctx, "UPDATE certificate SET sent_at = ? WHERE id = ?", today, id); err != nil {
			return err
		}
	}
	return nil
}

// register says once, at the start, what the query and the text were.
func (a *app) register() {
	a.reminders.Register(automation.ReminderType{
		Name: "certificate", SendAt: "09:00", Zone: "Europe/Dublin",
		Recipients: automation.RecipientFunc(func(ctx context.Context, d automation.Due) ([]notify.Recipient, error) {
			r := notify.Recipient{Ref: d.Source.ID, Channel: "email:sendgrid"}
			err := a.db.QueryRowContext(ctx, "SELECT email FROM certificate WHERE id = ?", d.Source.ID).Scan(&r.Address)
			return []notify.Recipient{r}, err
		}),
		Template: notify.Template{Subject: "Your certificate expires on {{.TargetDate}}"},
	})
}

// saveCertificate is where the program saves a certificate, and the cron job of after.
func (a *app) saveCertificate(ctx context.Context, id, email string, expires automation.Date) error {
	return a.store.InHostTx(ctx, func(ctx context.Context, tx *sql.Tx, bound storage.Tx) error {
		if _, err := tx.ExecContext(ctx, "REPLACE INTO certificate VALUES (?, ?, ?, NULL)", id, email, expires.String()); err != nil {
			return err
		}
		_, err := a.reminders.Type("certificate").In(bound).Set(ctx, automation.About{ID: id}, automation.DaysBefore(expires, 30))
		return err
	})
}
