// Package storetest runs a domain's tests on every adapter: memory, SQLite as a
// file, and PostgreSQL through a database of its own. Only tests import it.
//
// A package that uses it has one TestMain:
//
//	func TestMain(m *testing.M) { pgtest.Main(m) }
package storetest

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/internal/pgtest"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
	"github.com/belfry-go/belfry/storage/postgres"
	"github.com/belfry-go/belfry/storage/sqlite"
)

// Start is the moment at which the clocks of Each begin.
var Start = time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)

// Each runs test once per adapter, in parallel, on a fresh store whose clock
// stands at [Start].
func Each(t *testing.T, test func(t *testing.T, store storage.Store, clk *clock.Mock)) {
	t.Helper()
	for name, open := range map[string]func(testing.TB, clock.Clock) storage.Store{
		"memory":   func(_ testing.TB, clk clock.Clock) storage.Store { return memory.New(&memory.Options{Clock: clk}) },
		"sqlite":   SQLite,
		"postgres": Postgres,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clk := clock.NewMock()
			clk.Set(Start)
			test(t, open(t, clk), clk)
		})
	}
}

// SQLite opens a store on a file of its own.
func SQLite(t testing.TB, clk clock.Clock) storage.Store {
	t.Helper()
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "belfry.db"), &sqlite.Options{Clock: clk})
	if err != nil {
		t.Fatal(err)
	}
	closeAfter(t, store)
	return store
}

// Postgres opens a store on a database of its own.
func Postgres(t testing.TB, clk clock.Clock) storage.Store {
	t.Helper()
	store, err := postgres.Open(t.Context(), pgtest.DSN(t), &postgres.Options{Clock: clk})
	if err != nil {
		t.Fatal(err)
	}
	closeAfter(t, store)
	return store
}

func closeAfter(t testing.TB, store interface{ Close() error }) {
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
}
