// Command transactions saves a change and the reminder that follows from it in one
// transaction, by each library that programs use for their database. A file here is one
// way; docs/drivers.md shows them side by side.
//
//	go run . -dsn postgres://...
//
// It is a module of its own, so that the library does not depend on theirs. Run it in its
// folder. It makes its tables in the database, and a certificate for each way.
package main

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage"
)

func main() {
	dsn := flag.String("dsn", "", "PostgreSQL `URL`")
	file := flag.String("db", "transactions.db", "SQLite `file`")
	flag.Parse()
	if err := run(context.Background(), *dsn, *file, os.Stdout); err != nil {
		log.Fatal("transactions: ", err)
	}
}

// host is a program on a library of its own.
type host struct {
	store storage.Store
	// renew gives a certificate another date, and its reminder.
	renew func(ctx context.Context, reminders *automation.Scheduler, id string, expires time.Time) error
	db    *sql.DB // looks at its tables
	close func()
}

// way opens a program on the database that dsn or file names.
type way struct {
	name string
	open func(ctx context.Context, dsn, file string, clk clock.Clock) (*host, error)
}

var ways = []way{
	{"lib/pq", openPQ},
	{"pgx under database/sql", openStdlib},
	{"SQLite", openSQLite},
	{"sqlx", openSQLX},
	{"pgx", openPGX},
	{"sqlc", openSQLC},
	{"GORM", openGORM},
}

// run plays all ways, one after the other, on the same tables.
func run(ctx context.Context, dsn, file string, w io.Writer) error {
	clk := clock.NewMock() // a real program leaves the clock out
	clk.Set(time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC))
	for _, way := range ways {
		h, err := way.open(ctx, dsn, file, clk)
		if err == nil {
			err = h.play(ctx, way.name, clk)
			h.close()
		}
		if err != nil {
			return fmt.Errorf("%s: %w", way.name, err)
		}
		fmt.Fprintf(w, "%s: both or neither, and one mail\n", way.name)
	}
	return nil
}

// play renews a certificate, first to a date that is refused when the change is made and
// the reminder is not yet.
func (h *host) play(ctx context.Context, id string, clk *clock.Mock) error {
	mails := 0
	out := notify.New(h.store, nil, channel.Func("email:count", func(context.Context, channel.Message) (channel.Receipt, error) {
		mails++
		return channel.Receipt{ID: id}, nil
	}))
	reminders := newReminders(h.store, out)
	today := clk.Now().Truncate(24 * time.Hour)
	if err := prepare(ctx, h.db, id, today); err != nil {
		return err
	}
	for _, c := range []struct {
		to, want time.Time
		err      error
		mails    int
	}{
		{time.Time{}, today, errNoDate, 0},
		{today.AddDate(0, 0, 40), today.AddDate(0, 0, 40), nil, 1},
	} {
		if err := h.renew(ctx, reminders, id, c.to); !errors.Is(err, c.err) {
			return fmt.Errorf("renewed to %s: %w", c.to, err)
		}
		var saved time.Time
		if err := h.db.QueryRowContext(ctx, "SELECT expires_on FROM certificate WHERE id = $1", id).Scan(&saved); err != nil {
			return err
		}
		clk.Add(11 * 24 * time.Hour)
		err := belfry.NewPoller(h.store, nil, reminders, out).Drain(ctx)
		if err != nil || mails != c.mails || !saved.Equal(c.want) {
			return fmt.Errorf("renewed to %s: the date is %s, and %d mails went out: %w", c.to, saved, mails, err)
		}
	}
	return nil
}

// prepare has a certificate of that name.
func prepare(ctx context.Context, db *sql.DB, id string, expires time.Time) error {
	if _, err := db.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS certificate (id text PRIMARY KEY, expires_on date NOT NULL)"); err != nil {
		return err
	}
	_, err := db.ExecContext(ctx, "INSERT INTO certificate (id, expires_on) VALUES ($1, $2)", id, expires)
	return err
}
