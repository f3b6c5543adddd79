// Package storetest runs a domain's tests on every adapter: memory, SQLite as a
// file, and PostgreSQL through a database of its own. Runs of level quick and check take memory
// only (see package testlevel): the conformance suite and internal/storytest speak for
// the other adapters there. A [Spy] counts calls of a store,
// fails one, or acts between two. Only tests import it.
//
// A package that uses it has one TestMain:
//
//	func TestMain(m *testing.M) { pgtest.Main(m) }
package storetest

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/internal/pgtest"
	"github.com/belfry-go/belfry/internal/testlevel"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/memory"
	"github.com/belfry-go/belfry/storage/postgres"
	"github.com/belfry-go/belfry/storage/sqlite"
)

// Start is the moment at which the clocks of Each begin.
var Start = time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)

type opener = func(testing.TB, clock.Clock) storage.Store

// Awake is a mock clock for those who run while the test moves it: they look again soon,
// in real time. A Timer of a mock clock hangs where two run it at once: the one that
// moves the clock, and the one that makes another.
func Awake(clk *clock.Mock) clock.Clock { return awake{clk} }

type awake struct{ *clock.Mock }

func (awake) After(time.Duration) <-chan time.Time { return time.After(5 * time.Millisecond) }

// Each runs test once per adapter of the run's level, in parallel, on a fresh
// store whose clock stands at [Start].
func Each(t *testing.T, test func(t *testing.T, store storage.Store, clk *clock.Mock)) {
	t.Helper()
	on(t, each(t), test)
}

func each(t *testing.T) map[string]opener {
	adapters := map[string]opener{"memory": openMemory}
	if testlevel.Runs(t, testlevel.Nightly) {
		adapters["sqlite"], adapters["postgres"] = openSQLite, openPostgres
	}
	return adapters
}

// EachAwake is Each for tests that move the clock while a poller runs.
func EachAwake(t *testing.T, test func(t *testing.T, store storage.Store, clk *clock.Mock)) {
	t.Helper()
	adapters := each(t)
	for name, open := range adapters {
		adapters[name] = func(t testing.TB, clk clock.Clock) storage.Store { return open(t, Awake(clk.(*clock.Mock))) }
	}
	on(t, adapters, test)
}

// EachDatabase is Each for tests that run on SQLite and PostgreSQL at every
// level, and not on memory. They belong in internal/storytest, so that a quick
// run starts one cluster for all of them.
func EachDatabase(t *testing.T, test func(t *testing.T, store storage.Store, clk *clock.Mock)) {
	t.Helper()
	on(t, map[string]opener{"sqlite": openSQLite, "postgres": openPostgres}, test)
}

func on(t *testing.T, adapters map[string]opener, test func(t *testing.T, store storage.Store, clk *clock.Mock)) {
	t.Helper()
	for name, open := range adapters {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clk := clock.NewMock()
			clk.Set(Start)
			test(t, open(t, clk), clk)
		})
	}
}

func openMemory(_ testing.TB, clk clock.Clock) storage.Store {
	return memory.New(&memory.Options{Clock: clk})
}

// Memory opens a store in memory.
func Memory(t testing.TB, clk clock.Clock) storage.Store { return openMemory(t, clk) }

// SQLite opens a store on a file of its own. Only a run of level nightly takes t.
func SQLite(t testing.TB, clk clock.Clock) storage.Store {
	t.Helper()
	testlevel.Need(t, testlevel.Nightly)
	return openSQLite(t, clk)
}

func openSQLite(t testing.TB, clk clock.Clock) storage.Store {
	t.Helper()
	path := filepath.Join(t.TempDir(), "belfry.db")
	if err := prepareSQLite(path); err != nil {
		t.Fatal(err)
	}
	// A test does not wait for the disk, which only a power cut would tell.
	store, err := sqlite.Open(t.Context(), path, &sqlite.Options{Clock: clk, Synchronous: sqlite.Normal})
	if err != nil {
		t.Fatal(err)
	}
	closeAfter(t, store)
	return store
}

// Postgres opens a store on a database of its own. Only a run of level nightly takes t.
func Postgres(t testing.TB, clk clock.Clock) storage.Store {
	t.Helper()
	testlevel.Need(t, testlevel.Nightly)
	return openPostgres(t, clk)
}

func openPostgres(t testing.TB, clk clock.Clock) storage.Store {
	t.Helper()
	store, err := postgres.Open(t.Context(), pgtest.Prepared(t, "a store", preparePostgres), &postgres.Options{Clock: clk})
	if err != nil {
		t.Fatal(err)
	}
	closeAfter(t, store)
	return store
}

// preparePostgres makes the tables.
func preparePostgres(ctx context.Context, dsn string) error {
	store, err := postgres.Open(ctx, dsn, nil)
	if err != nil {
		return err
	}
	return store.Close()
}

func closeAfter(t testing.TB, store interface{ Close() error }) {
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
}

// Record is what the shared columns of a row hold, for a test outside the package
// that has the table.
func Record(t testing.TB, store storage.Store, of *driver.Schema, place driver.ScopedKey) storage.Record {
	t.Helper()
	var rows []driver.Row
	err := store.InTx(t.Context(), func(tx storage.Tx) (err error) {
		rows, err = tx.Get(t.Context(), of, []driver.ScopedKey{place}, nil)
		return err
	})
	if err != nil || len(rows) != 1 {
		t.Fatalf("%s: %d rows at %v: %v", of.Name, len(rows), place, err)
	}
	return *driver.RecordOf(rows[0])
}
