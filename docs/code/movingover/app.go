// Package movingover has what programs do before Belfry, and the same on it: a cron job
// with a table (cron.go), jobs on a queue (queue.go), and a handler that calls SendGrid
// (handler.go). docs/migrating.md shows both sides. The tests run them, with a server that
// stands in for SendGrid.
package movingover

import (
	"context"
	"database/sql"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel/sendgrid"
	"github.com/belfry-go/belfry/storage/sqlite"
)

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
