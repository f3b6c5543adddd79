package storytest

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/postgres"
	"github.com/belfry-go/belfry/storage/sqlite"
	"github.com/belfry-go/belfry/survey"
)

// A newer version of the program gives every table one more column. A program that runs
// already and one that starts later work as before: they know what was asked for, send it
// once, and erase it.
func TestTablesMayHaveOneMoreColumn(t *testing.T) {
	each(t, func(w *world) {
		running := w.program(w.store)
		running.asks("sam", storage.Created)
		w.addColumns()
		later := w.program(w.startLater())
		later.asks("sam", storage.Unchanged)
		later.asks("eve", storage.Created)
		running.asks("eve", storage.Unchanged)
		running.asks("ann", storage.Created)
		w.clk.Set(time.Date(2026, 3, 3, 9, 0, 0, 0, time.UTC))
		running.drain()
		later.asks("tom", storage.Created)
		later.drain()
		var want []string
		for _, name := range []string{"sam", "eve", "ann", "tom"} {
			for _, subject := range []string{"2026-03-03", "Invoice 114", "How was it?"} {
				want = append(want, fmt.Sprintf("%s to %s@example.com", subject, name))
			}
		}
		w.wantSent(want...)
		w.answers(later.surveys, running.link("sam"))
		w.answers(running.surveys, later.link("eve"))
		for _, p := range []program{running, later} {
			poller := belfry.NewPoller(p.store, &belfry.Options{Logger: quiet}, p.services()...)
			if _, err := poller.Health(w.Context(), storage.Everywhere()); err != nil {
				w.Error(err)
			}
			who := belfry.Person{Ref: "sam", Addresses: []belfry.PersonAddress{{Method: "email", Address: "sam@example.com"}}}
			if _, err := poller.Privacy().Erase(w.Context(), "", who, belfry.By{Actor: "ann", Reason: "ticket 4711"}); err != nil {
				w.Error(err)
			}
			rows, _, err := p.messages.Support().MessagesOf(w.Context(), "", notify.Recipient{Ref: "sam"}, storage.Page{})
			if err != nil || len(rows) != 0 {
				w.Errorf("%d messages of a person who was erased: %v", len(rows), err)
			}
		}
	})
}

// program is a process with one service of each domain.
type program struct {
	*world
	store     storage.Store
	reminders *automation.Scheduler
	messages  *notify.Notifier
	surveys   *survey.Service
}

func (w *world) program(store storage.Store) program {
	p := program{world: w, store: store}
	p.reminders, p.messages = w.office(store, nil)
	p.surveys = garageOf(store, p.messages, map[string]int{})
	p.messages.Register(invoices)
	return p
}

// drain lets the process do all that is due.
func (p program) drain() {
	p.Helper()
	if err := belfry.NewPoller(p.store, &belfry.Options{Logger: quiet}, p.services()...).Drain(p.Context()); err != nil {
		p.Fatal(err)
	}
}

func (p program) services() []belfry.Service {
	return []belfry.Service{p.reminders, p.messages, p.surveys}
}

// asks wants a reminder, a message and a link for a person.
func (p program) asks(name string, want storage.Outcome) {
	p.Helper()
	got, err := p.reminders.Ensure(p.Context(), expiring(name, 3))
	if err != nil || got[0].Outcome != want {
		p.Fatal(got, err)
	}
	job := invoice(name)
	job.RowKey = name
	p.notify(p.messages, job, want)
	created := 0
	if want == storage.Created {
		created = 1
	}
	p.visited(p.surveys, created, name)
}

func (p program) link(name string) string {
	p.Helper()
	return p.visited(p.surveys, 0, name)[0]
}

// handle is the database under the store. A store of pgx has another kind, and the same SQL
// as that of lib/pq.
func (w *world) handle() *sql.DB {
	w.Helper()
	s, ok := w.store.(interface{ DB() *sql.DB })
	if !ok {
		w.Skip("needs a handle of database/sql")
	}
	return s.DB()
}

// addColumns does what a migration of a newer version may do, and records it.
func (w *world) addColumns() {
	w.Helper()
	list := "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
	if _, ok := w.store.(*postgres.Store); ok {
		list = "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace"
	}
	tables := w.strings(list)
	if len(tables) < 30 {
		w.Fatalf("there are only the tables %q", tables)
	}
	changes := []string{"INSERT INTO schema_migration VALUES (9999, '9999_later.sql', 'the newer version''s', NULL)"}
	for _, table := range tables {
		if table != "schema_migration" {
			changes = append(changes, "ALTER TABLE "+table+" ADD COLUMN later text")
		}
	}
	for _, change := range changes {
		if _, err := w.handle().ExecContext(w.Context(), change); err != nil {
			w.Fatal(change, err)
		}
	}
}

func (w *world) strings(query string) (all []string) {
	w.Helper()
	rows, err := w.handle().QueryContext(w.Context(), query)
	if err != nil {
		w.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var v string
		if err := rows.Scan(&v); err != nil {
			w.Fatal(err)
		}
		all = append(all, v)
	}
	if err := rows.Err(); err != nil {
		w.Fatal(err)
	}
	return all
}

// startLater opens the database again: it verifies the migrations and the tables.
func (w *world) startLater() storage.Store {
	w.Helper()
	var store interface {
		storage.Store
		Close() error
		CheckTables(ctx context.Context, schemas ...*driver.Schema) error
	}
	var err error
	if _, ok := w.store.(*postgres.Store); ok {
		store, err = postgres.New(w.Context(), w.handle(), &postgres.Options{Clock: w.clk})
	} else {
		path := w.strings("SELECT file FROM pragma_database_list WHERE name = 'main'")[0]
		store, err = sqlite.Open(w.Context(), path, &sqlite.Options{Clock: w.clk, Migrate: sqlite.MigrateVerify})
	}
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() {
		if err := store.Close(); err != nil {
			w.Error(err)
		}
	})
	if err := store.CheckTables(w.Context(), slices.Concat(driver.Schemas(), notify.Schemas(), automation.Schemas(), survey.Schemas())...); err != nil {
		w.Error(err)
	}
	return store
}
