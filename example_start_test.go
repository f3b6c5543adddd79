package belfry_test

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/notifytest"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
	"github.com/belfry-go/belfry/storage/postgres"
	"github.com/belfry-go/belfry/storage/sqlite"
)

// What docs/getting-started.md shows. Here a store is opened; nothing of it is run.
func Example_open() {
	var ctx, dsn, db, mock = context.Background(), "", (*sql.DB)(nil), clock.NewMock()
	opened := func(storage.Store, error) {}
	{
		store, err := sqlite.Open(ctx, "app.db", nil)
		opened(store, err)
	}
	{
		store, err := postgres.Open(ctx, dsn, nil)
		opened(store, err)
	}
	{
		store, err := postgres.New(ctx, db, nil)
		opened(store, err)
	}
	{
		store := memory.New(&memory.Options{Clock: mock})
		opened(store, nil)
	}
}

// books are the invoices of a program, and who owes them.
type books map[string]struct {
	ID   string
	Due  time.Time
	Paid bool
}

func (b books) Recipients(_ context.Context, _ automation.Due) ([]notify.Recipient, error) {
	return []notify.Recipient{{Ref: "17", Channel: "email:test", Address: "sam@example.com"}}, nil
}

func (b books) Validate(_ context.Context, d automation.Due) (automation.Validity, error) {
	if b[d.Source.ID].Paid {
		return automation.NoLongerValid("Paid"), nil
	}
	return automation.StillValid(), nil
}

// accounts is the program, on a store and with a channel.
func accounts(store storage.Store, mail channel.Channel, invoices books) (*automation.Scheduler, *notify.Notifier) {
	out := notify.New(store, nil, mail)
	reminders := automation.New(store, out, nil)
	reminders.Register(automation.ReminderType{
		Name:       "invoice",
		Recipients: invoices,
		Validator:  invoices,
		Template:   notify.Template{Subject: "Invoice {{.Source.ID}} is due on {{.TargetDate}}"},
		Zone:       "Europe/Dublin",
		SendAt:     "09:00",
	})
	return reminders, out
}

func Example_start() {
	ctx, mock := context.Background(), clock.NewMock()
	mock.Set(time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC))
	store := memory.New(&memory.Options{Clock: mock})
	invoices := books{"114": {ID: "114", Due: time.Date(2026, 3, 20, 0, 0, 0, 0, time.UTC)}}
	invoice, customer := invoices["114"], struct{ ID string }{"17"}
	mails := notifytest.NewRecorder()
	reminders, out := accounts(store, mails, invoices)

	due := automation.DateOf(invoice.Due)
	_, err := reminders.Type("invoice").Set(ctx, automation.About{ID: invoice.ID, Person: customer.ID},
		automation.DaysBefore(due, 7), automation.DaysAfter(due, 14))
	fmt.Println(err)

	poller := belfry.NewPoller(store, &belfry.Options{Logger: slog.New(slog.DiscardHandler)}, reminders, out)
	mock.Add(14 * 24 * time.Hour)
	fmt.Println(poller.Drain(ctx), len(mails.Messages()), "mail")

	key, err := keys.Reminder{
		Setting: "invoice", SourceType: "invoice", Source: invoice.ID, TriggerKey: "default", TargetDate: "2026-03-20", OffsetDays: -14,
	}.Key()
	fmt.Println(key, err)
	why, err := reminders.Explain(ctx, "", key)
	if err != nil {
		fmt.Println(why)
	}
	fmt.Println(why.Schedule.Status)
	// Output:
	// <nil>
	// <nil> 1 mail
	// reminder:invoice:invoice:114:default:2026-03-20:-14 <nil>
	// Pending
}

// A test of the program.
func TestTheProgramOfTheFirstPage(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	mock := clock.NewMock()
	store := memory.New(&memory.Options{Clock: mock})
	mails := notifytest.NewRecorder()
	invoices := books{}
	reminders, out := accounts(store, mails, invoices)
	poller := belfry.NewPoller(store, nil, reminders, out)
	due := automation.DateOf(mock.Now()).AddDays(10)
	if _, err := reminders.Type("invoice").Set(ctx, automation.About{ID: "7"}, automation.DaysBefore(due, 1)); err != nil {
		t.Fatal(err)
	}
	mock.Add(9*24*time.Hour + 12*time.Hour)
	if err := poller.Drain(ctx); err != nil {
		t.Fatal(err)
	}
	mails.Sent(t, 1)
}

// In earnest it runs until ctx ends.
func Example_run() {
	var ctx, store = context.Background(), memory.New(nil)
	reminders, out := accounts(store, notifytest.NewRecorder(), nil)
	err := belfry.NewPoller(store, nil, reminders, out).Run(ctx)
	fmt.Println(err)
}

// What docs/privacy.md shows: for how long rows stay, what is known of a person, and
// its removal.
func Example_privacy() {
	ctx, store := context.Background(), memory.New(nil)
	reminders, out := accounts(store, notifytest.NewRecorder(), nil)
	poller := belfry.NewPoller(store, &belfry.Options{
		Retention: belfry.Retention{Messages: 90 * 24 * time.Hour, Audit: 3 * 365 * 24 * time.Hour},
	}, reminders, out)
	w := io.Discard
	sam := belfry.Person{Ref: "17", Addresses: []belfry.PersonAddress{{Method: "email", Address: "sam@example.com"}}, Inboxes: []string{"user:17"}}
	err := poller.Privacy().Export(ctx, w, "acme", sam)
	fmt.Println(err)
	report, err := poller.Privacy().Erase(ctx, "acme", sam, belfry.By{Actor: "ann", Reason: "ticket 4711"})
	fmt.Println(report.Status, err)
}
