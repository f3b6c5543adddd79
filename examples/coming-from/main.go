// Command coming-from shows what programs have before Belfry, and the same on it: a cron
// job with a table (cron.go), jobs on a queue (queue.go), and a handler that calls
// SendGrid (handler.go). docs/coming-from.md has both sides. The test runs them, with a
// server that stands in for SendGrid.
//
//	go run ./examples/coming-from -key SG.… -from office@school.example -to you@example.com
package main

import (
	"context"
	"database/sql"
	"flag"
	"log"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel/sendgrid"
	"github.com/belfry-go/belfry/storage/sqlite"
)

func main() {
	file := flag.String("db", "coming-from.db", "SQLite `file`")
	key := flag.String("key", "", "SendGrid's API `key`")
	from := flag.String("from", "", "`address` of a verified sender")
	to := flag.String("to", "", "`address` that gets a mail")
	flag.Parse()
	ctx := context.Background()
	a, err := newApp(ctx, *file, *key, &sendgrid.Options{From: *from}, nil)
	if err != nil {
		log.Fatal("coming-from: ", err)
	}
	defer a.store.Close()
	if err := a.takeOrder(ctx, "1001", *to); err != nil {
		log.Fatal("coming-from: ", err)
	}
	if err := a.poller().Drain(ctx); err != nil {
		log.Fatal("coming-from: ", err)
	}
}

// app is a school's shop.
type app struct {
	store     *sqlite.Store
	db        *sql.DB
	reminders *automation.Scheduler
	out       *notify.Notifier
}

func newApp(ctx context.Context, file, key string, mail *sendgrid.Options, clk clock.Clock) (*app, error) {
	store, err := sqlite.Open(ctx, file, &sqlite.Options{Clock: clk, Environment: "example"})
	if err != nil {
		return nil, err
	}
	out, err := newNotifier(store, key, mail)
	if err != nil {
		return nil, err
	}
	a := &app{store: store, db: store.DB(), out: out, reminders: automation.New(store, out, nil)}
	a.register()
	_, err = a.db.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS certificate (id text PRIMARY KEY, email text, expires text, sent_at text);
		CREATE TABLE IF NOT EXISTS purchase (id text PRIMARY KEY)`)
	return a, err
}

func (a *app) poller() *belfry.Poller { return belfry.NewPoller(a.store, nil, a.reminders, a.out) }
