package belfry_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/internal/testlevel"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage"
)

// year is a year of so many messages a day, of which each month has so many days.
type year struct{ perDay, month int }

// A database that forgets stops growing: after twelve months it is as large as after
// four, at most a twentieth more or less. Rows are kept for a month, and wishes for two.
func TestADatabaseThatForgetsStopsGrowing(t *testing.T) {
	t.Parallel()
	y := year{perDay: 50, month: 10}
	if testlevel.Has(t, testlevel.Nightly) {
		y = year{perDay: 2000, month: 30}
	}
	for name, open := range map[string]func(testing.TB, clock.Clock) storage.Store{"sqlite": storetest.SQLite, "postgres": storetest.Postgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clk := clock.NewMock()
			clk.Set(storetest.Start)
			y.run(t, open(t, clk), clk)
		})
	}
}

func (y year) run(t *testing.T, store storage.Store, clk *clock.Mock) {
	month := time.Duration(y.month) * days
	sent := 0
	out := notify.New(store, nil, channel.Func("email:test", func(_ context.Context, m channel.Message) (channel.Receipt, error) {
		return channel.Receipt{ID: m.ID}, nil
	}))
	out.Register(notify.Type{
		Name: "welcome", ForgetAfter: 2 * month,
		Renderer: notify.Template{Subject: "Welcome, {{.Recipient.Name}}", Text: "This is a text of a few lines, as many mails have it.\n\nAnd one more."},
	})
	poller := belfry.NewPoller(store, &belfry.Options{Retention: belfry.Retention{Messages: month, Inbox: month}}, out)
	sizes := map[int]int64{}
	for day := range 12 * y.month {
		y.day(t, out, day)
		sent += y.perDay
		clk.Add(days)
		if err := poller.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		tidy(t, store)
		if (day+1)%y.month == 0 {
			sizes[(day+1)/y.month] = size(t, store)
			t.Logf("month %d: %d messages so far, %.1f MB", (day+1)/y.month, sent, float64(sizes[(day+1)/y.month])/1e6)
		}
	}
	if four, twelve := float64(sizes[4]), float64(sizes[12]); twelve > 1.05*four || twelve < 0.95*four {
		t.Errorf("%.0f bytes after four months, %.0f after twelve", four, twelve)
	}
	y.stubs(t, store)
}

// day asks for the messages of a day.
func (y year) day(t *testing.T, out *notify.Notifier, day int) {
	t.Helper()
	for at := 0; at < y.perDay; at += 500 {
		n := min(500, y.perDay-at)
		jobs, schedules := make([]notify.Job, n), make([]notify.Schedule, n)
		for i := range jobs {
			who := fmt.Sprintf("%d-%d", day, at+i)
			jobs[i] = notify.Job{
				Type: "welcome", PartitionKey: "person:" + who, RowKey: "welcome:" + who,
				Recipients: []notify.Recipient{{Ref: who, Name: "Sam", Channel: "email:test", Address: who + "@example.com", Inbox: "user:" + who}},
			}
			schedules[i] = notify.ScheduleFor(jobs[i], time.Time{})
		}
		if _, err := out.EnsureNotificationJob(t.Context(), nil, jobs...); err != nil {
			t.Fatal(err)
		}
		if _, err := out.EnsureNotificationScheduler(t.Context(), nil, schedules...); err != nil {
			t.Fatal(err)
		}
	}
}

type database interface{ DB() *sql.DB }

// tidy is what autovacuum does within a day, which is a moment here.
func tidy(t *testing.T, store storage.Store) {
	t.Helper()
	if db, ok := store.(database); ok && isPostgres(t, db.DB()) {
		if _, err := db.DB().ExecContext(t.Context(), "VACUUM"); err != nil {
			t.Fatal(err)
		}
	}
}

func isPostgres(t *testing.T, db *sql.DB) bool {
	t.Helper()
	var one int
	return db.QueryRowContext(t.Context(), "SELECT 1 FROM pg_class LIMIT 1").Scan(&one) == nil
}

// size is that of all tables and indexes.
func size(t *testing.T, store storage.Store) (bytes int64) {
	t.Helper()
	db := store.(database).DB()
	query := "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
	if isPostgres(t, db) {
		query = "SELECT sum(pg_total_relation_size(c.oid))::bigint FROM pg_class c WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace"
	}
	if err := db.QueryRowContext(t.Context(), query).Scan(&bytes); err != nil {
		t.Fatal(err)
	}
	return bytes
}

// stubs reports them apart: how many there are, and how large the rest of their rows is.
func (y year) stubs(t *testing.T, store storage.Store) {
	t.Helper()
	db := store.(database).DB()
	if !isPostgres(t, db) {
		return
	}
	var n int
	var wide, whole float64
	err := db.QueryRowContext(t.Context(), `SELECT count(*) FILTER (WHERE forgotten_on IS NOT NULL),
		coalesce(avg(pg_column_size(j.*)) FILTER (WHERE forgotten_on IS NOT NULL), 0), coalesce(avg(pg_column_size(j.*)) FILTER (WHERE forgotten_on IS NULL), 0)
		FROM notification_job j`).Scan(&n, &wide, &whole)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d stubs of %.0f bytes, where a whole job has %.0f", n, wide, whole)
	if n == 0 {
		t.Error("there are no stubs")
	}
}
