package main

import (
	"context"
	"errors"
	"time"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
)

// newReminders has one type, thirty days before a certificate expires.
func newReminders(store storage.Store, out *notify.Notifier) *automation.Scheduler {
	reminders := automation.New(store, out, nil)
	reminders.Register(automation.ReminderType{
		Name:     "certificate",
		Template: notify.Template{Subject: "Your {{.Source.ID}} certificate expires on {{.TargetDate}}"},
		Recipients: automation.RecipientFunc(func(context.Context, automation.Due) ([]notify.Recipient, error) {
			return []notify.Recipient{{Ref: "sam", Channel: "email:count", Address: "sam@example.com"}}, nil
		}),
	})
	return reminders
}

var errNoDate = errors.New("a certificate needs a date")

// remind says all that is wanted about a certificate. It is bound to the caller's
// transaction, which it ends with its error.
func remind(ctx context.Context, reminders *automation.Scheduler, id string, expires time.Time) error {
	if expires.IsZero() {
		return errNoDate
	}
	_, err := reminders.Type("certificate").Set(ctx, automation.About{ID: id, SourceType: "employee"}, automation.Candidate{TargetDate: date(expires), DaysBefore: 30, SendAt: "09:00", Zone: "Europe/Dublin"})
	return err
}

func date(t time.Time) (d automation.Date) {
	d.Year, d.Month, d.Day = t.Date()
	return d
}

// repeat runs a transaction of a host's own again where the store asks for it, as after
// a deadlock. InHostTx does so by itself.
func repeat(transaction func() error) error {
	for {
		if err := transaction(); !errors.Is(err, storage.ErrRetryTx) {
			return err
		}
	}
}
