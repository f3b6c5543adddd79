// Command invoices shows reminders around a date: 14 and 3 days before an
// invoice is due, 1 and 14 days after, at nine o'clock where the customer's
// branch is, on days on which it works. Invoices are paid, and in the middle
// somebody changes the settings. The mails are counted at the end: none doubled,
// none missing.
//
//	go run ./examples/invoices
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/settings"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel/file"
	"github.com/belfry-go/belfry/storage/sqlite"
)

func main() {
	db := flag.String("db", "", "keep the database in this new `file`, to look at it afterwards")
	flag.Parse()
	if err := run(context.Background(), os.Stdout, *db); err != nil {
		fmt.Fprintln(os.Stderr, "invoices:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, w io.Writer, db string) error {
	dir, err := os.MkdirTemp("", "invoices")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if db == "" {
		db = filepath.Join(dir, "firm.db")
	} else if _, err := os.Stat(db); err == nil {
		return fmt.Errorf("%s exists: the story begins on an empty database", db)
	}
	clk := clock.NewMock() // a real program leaves it out
	clk.Set(firstDay)
	store, err := sqlite.Open(ctx, db, &sqlite.Options{Clock: clk})
	if err != nil {
		return err
	}
	defer store.Close()

	mails := filepath.Join(dir, "mail")
	mail := file.New(mails, &file.Options{From: "Accounts <accounts@firm.example>"})
	b := &books{invoices: invoices(), channel: mail.Key()}
	set := settings.New(store, &settings.Options{Types: []string{reminder}})
	out := notify.New(store, nil, mail)
	quiet := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	reminders := automation.New(store, out, &automation.Options{Settings: set, Zone: set.Zone, Logger: quiet})
	reminders.Register(automation.ReminderType{
		Name:          reminder,
		Triggers:      set.Triggers(reminder, b.dueDates, entered),
		Invalidations: paidInvoices{},
		Validator:     automation.ValidatorFunc(b.stillOpen),
		Recipients:    automation.RecipientFunc(b.customer),
		BusinessDay:   set.BusinessDay,
		Scan: &automation.Scan{
			Read: b.open, SourceType: "invoice", Window: 60, Every: 24 * time.Hour, Scopes: []automation.Scope{""},
		},
		Template: wording,
	})
	s := story{
		w: w, clk: clk, books: b, settings: set, reminders: reminders,
		poller: belfry.NewPoller(store, nil, reminders, out),
		mails:  mailbox{dir: mails, known: map[string]bool{}},
	}
	return s.play(ctx)
}
