package sqlstore_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"
	"github.com/mattn/go-sqlite3"

	"github.com/belfry-go/belfry/internal/pgtest"
	"github.com/belfry-go/belfry/internal/testlevel"
	"github.com/belfry-go/belfry/storage/internal/sqlstore"
)

// database is an empty database of one dialect. handle opens it as one process
// would: another one is independent.
type database struct {
	dialect *sqlstore.Dialect
	handle  func(t testing.TB) *sqlx.DB
}

// onEach runs a test on both dialects, each on an empty database.
func onEach(t *testing.T, test func(t *testing.T, d database)) {
	t.Helper()
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		testlevel.Need(t, testlevel.Check)
		dsn := pgtest.DSN(t)
		test(t, database{sqlstore.PostgreSQL, func(t testing.TB) *sqlx.DB { return open(t, "postgres", dsn) }})
	})
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		dsn := "file:" + filepath.Join(t.TempDir(), "a.db") + "?_journal_mode=WAL&_busy_timeout=10"
		test(t, database{sqlstore.SQLite, func(t testing.TB) *sqlx.DB {
			db := open(t, "sqlite3", dsn)
			db.SetMaxOpenConns(1)
			return db
		}})
	})
}

func open(t testing.TB, driver, dsn string) *sqlx.DB {
	t.Helper()
	db, err := sqlx.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// store is a store without blobs' tables unless change gives it migrations.
func (d database) store(t testing.TB, change func(*sqlstore.Config)) (*sqlstore.Store, error) {
	t.Helper()
	cfg := sqlstore.Config{Dialect: d.dialect, Writer: pool(d.handle(t)), Classify: classify, Migrate: sqlstore.MigrateOff}
	if change != nil {
		change(&cfg)
	}
	return sqlstore.New(t.Context(), cfg)
}

// pool is the handle as a store takes it.
func pool(db *sqlx.DB) sqlstore.Pool {
	if db == nil {
		return nil
	}
	return sqlstore.NewDatabase(db.DB, nil)
}

func (d database) exec(t testing.TB, db *sqlx.DB, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if _, err := db.ExecContext(t.Context(), text); err != nil {
			t.Fatal(text, err)
		}
	}
}

// classify knows what these tests meet; the adapters know more.
func classify(err error) sqlstore.Class {
	if e := (*pq.Error)(nil); errors.As(err, &e) {
		switch e.Code {
		case "40001", "40P01":
			return sqlstore.Serialization
		case "55P03":
			return sqlstore.LockTimeout
		}
	}
	if e := (sqlite3.Error{}); errors.As(err, &e) && e.Code == sqlite3.ErrBusy {
		return sqlstore.Busy
	}
	return sqlstore.Unknown
}

func scan[V any](t testing.TB, db *sqlx.DB, query string) (v V) {
	t.Helper()
	if err := db.GetContext(context.WithoutCancel(t.Context()), &v, query); err != nil {
		t.Fatal(query, err)
	}
	return v
}

// nothing is a handle that is not used.
func nothing(testing.TB) *sqlx.DB { return nil }
