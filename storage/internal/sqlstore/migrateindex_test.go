package sqlstore_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/belfry-go/belfry/internal/pgtest"
	"github.com/belfry-go/belfry/internal/testlevel"
	"github.com/belfry-go/belfry/storage/internal/sqlstore"
)

// byN is a later migration, which makes an index on a table that is in use.
var byN = map[string]string{"0002_bell_n.sql": "-- concurrently\nCREATE INDEX CONCURRENTLY IF NOT EXISTS {index:bell_n} ON {bell} (n);\n"}

// inUse is a database of PostgreSQL with a large bell, and a writer in the middle of its work.
func inUse(t *testing.T) (d database, db *sqlx.DB, writer *sqlx.Tx) {
	t.Helper()
	testlevel.Need(t, testlevel.Nightly)
	dsn := pgtest.DSN(t)
	d = database{sqlstore.PostgreSQL, func(t testing.TB) *sqlx.DB { return open(t, "postgres", dsn) }}
	if err := d.migrate(t, sqlstore.MigrateAuto, bell); err != nil {
		t.Fatal(err)
	}
	db = d.handle(t)
	large := 5_000
	if testlevel.Has(t, testlevel.Nightly) {
		large = 500_000
	}
	d.exec(t, db, fmt.Sprint("INSERT INTO bell SELECT g FROM generate_series(1, ", large, ") AS g"))
	writer, err := db.BeginTxx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := writer.Exec("INSERT INTO bell VALUES (2)"); err != nil {
		t.Fatal(err)
	}
	return d, db, writer
}

// making waits until so many sessions are at the index.
func making(t *testing.T, db *sqlx.DB, sessions int) {
	t.Helper()
	for scan[int](t, db, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND state = 'active' AND query LIKE '-- concurrently%'") < sessions {
		if err := t.Context().Err(); err != nil {
			t.Fatal(err)
		}
	}
}

// While a later migration makes its index it holds no lock that a writer would wait for:
// others write although it waits for one that began before it.
func TestALaterIndexKeepsNobodyFromWriting(t *testing.T) {
	t.Parallel()
	d, db, writer := inUse(t)
	done := make(chan error)
	go func() { done <- d.migrate(t, sqlstore.MigrateAuto, bell, byN) }()
	making(t, db, 1)
	modes := ""
	for modes == "" {
		modes = locked(t, db)
	}
	if modes != "ShareUpdateExclusiveLock" {
		t.Errorf("it holds %s", modes)
	}
	other, err := db.Connx(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	d.on(t, other, "SET lock_timeout = '2s'", "INSERT INTO bell VALUES (3)", "UPDATE bell SET n = 4 WHERE n = 3")
	select {
	case err := <-done:
		t.Fatalf("it did not wait: %v", err)
	default:
	}
	if err := writer.Commit(); err != nil {
		t.Fatal(err)
	}
	looks := 0
	for made := false; !made; looks++ {
		if modes := locked(t, db); modes != "" && modes != "ShareUpdateExclusiveLock" {
			t.Errorf("it holds %s", modes)
		}
		d.on(t, other, "INSERT INTO bell VALUES (5)")
		select {
		case err := <-done:
			if made = true; err != nil {
				t.Fatal(err)
			}
		default:
		}
	}
	t.Logf("looked at %d times, written to as often", looks)
	whole(t, db)
}

// locked are the locks on the bell, held or waited for, of whoever makes the index.
func locked(t *testing.T, db *sqlx.DB) string {
	t.Helper()
	return scan[string](t, db, `SELECT coalesce(string_agg(DISTINCT l.mode, ', '), '') FROM pg_locks AS l JOIN pg_stat_activity AS a USING (pid)
		WHERE l.relation = 'bell'::regclass AND a.pid <> pg_backend_pid() AND a.query LIKE '-- concurrently%'`)
}

// A migration that needs a table for itself, for a moment, does not have writers wait behind it
// until somebody else is done with the table.
func TestALaterColumnKeepsNobodyWaiting(t *testing.T) {
	t.Parallel()
	d, db, writer := inUse(t)
	column := map[string]string{"0002_bell_m.sql": `CREATE TABLE {told} AS SELECT current_setting('lock_timeout') AS wait;
		ALTER TABLE {bell} ADD COLUMN m bigint;`}
	done, rests := make(chan error), make(chan time.Duration)
	go func() {
		_, err := d.store(t, func(c *sqlstore.Config) {
			c.Migrate, c.Migrations = sqlstore.MigrateAuto, files(bell, column)
			c.Wait = func(ctx context.Context, d time.Duration) error {
				select {
				case rests <- d:
				case <-ctx.Done():
				}
				return ctx.Err()
			}
		})
		done <- err
	}()
	if rest := <-rests; rest < time.Second {
		t.Errorf("it comes again after %s", rest)
	}
	// It does not go on before it is asked for the next rest.
	if n := scan[int](t, db, "SELECT count(*) FROM pg_locks WHERE relation = 'bell'::regclass AND mode = 'AccessExclusiveLock'"); n != 0 {
		t.Error("it is in the way while it rests")
	}
	d.exec(t, db, "INSERT INTO bell VALUES (3)")
	if err := writer.Commit(); err != nil {
		t.Fatal(err)
	}
	for ended := false; !ended; {
		select {
		case <-rests:
		case err := <-done:
			if ended = true; err != nil {
				t.Fatal(err)
			}
		}
	}
	if wait := scan[string](t, db, "SELECT wait FROM told"); wait != "50ms" {
		t.Errorf("writers wait behind it for %s", wait)
	}
}

func (d database) on(t *testing.T, conn *sqlx.Conn, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if _, err := conn.ExecContext(t.Context(), text); err != nil {
			t.Error(text, err)
		}
	}
}

// whole wants one valid index, which is recorded.
func whole(t *testing.T, db *sqlx.DB) {
	t.Helper()
	if n := scan[int](t, db, "SELECT count(*) FROM pg_index WHERE indrelid = 'bell'::regclass AND indisvalid"); n != 1 {
		t.Errorf("%d valid indexes", n)
	}
	if n := scan[int](t, db, "SELECT count(*) FROM pg_index WHERE indrelid = 'bell'::regclass AND NOT indisvalid"); n != 0 {
		t.Errorf("%d invalid indexes", n)
	}
	if n := scan[int](t, db, "SELECT count(*) FROM schema_migration WHERE number = 2"); n != 1 {
		t.Errorf("it is recorded %d times", n)
	}
}

// A process that dies while it makes an index leaves an invalid one, and the next makes it
// anew.
func TestAnIndexThatWasLeftInvalidIsMadeAgain(t *testing.T) {
	t.Parallel()
	d, db, writer := inUse(t)
	ctx, kill := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		cfg := sqlstore.Config{Dialect: d.dialect, Writer: pool(d.handle(t)), Classify: classify, Migrate: sqlstore.MigrateAuto, Migrations: files(bell, byN)}
		_, err := sqlstore.New(ctx, cfg)
		done <- err
	}()
	making(t, db, 1)
	for scan[int](t, db, "SELECT count(*) FROM pg_class WHERE relname = 'bell_n'") == 0 {
		if err := t.Context().Err(); err != nil {
			t.Fatal(err)
		}
	}
	kill()
	if err := <-done; err == nil {
		t.Error("it did not hear that it was to end")
	}
	if err := writer.Commit(); err != nil {
		t.Fatal(err)
	}
	if n := scan[int](t, db, "SELECT count(*) FROM pg_index WHERE indrelid = 'bell'::regclass AND NOT indisvalid"); n != 1 {
		t.Fatalf("%d invalid indexes are left", n)
	}
	if n := scan[int](t, db, "SELECT count(*) FROM schema_migration WHERE number = 2"); n != 0 {
		t.Error("it is recorded")
	}
	if err := d.migrate(t, sqlstore.MigrateAuto, bell, byN); err != nil {
		t.Fatal(err)
	}
	whole(t, db)
}

// Many processes are started at once on a database that lacks the index.
func TestProcessesThatStartAtOnceMakeAnIndexOnce(t *testing.T) {
	t.Parallel()
	d, db, writer := inUse(t)
	const n = 4
	done := make(chan error, n)
	for range n {
		go func() { done <- d.migrate(t, sqlstore.MigrateAuto, bell, byN) }()
	}
	making(t, db, n)
	if err := writer.Commit(); err != nil {
		t.Fatal(err)
	}
	for range n {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	whole(t, db)
}

// What is not one index, if there is none, cannot be repeated.
func TestAConcurrentMigrationMakesOneIndex(t *testing.T) {
	t.Parallel()
	d, _, writer := inUse(t)
	if err := writer.Rollback(); err != nil {
		t.Fatal(err)
	}
	bad := map[string]string{"0002_bell_n.sql": "-- concurrently\nCREATE INDEX CONCURRENTLY {index:bell_n} ON {bell} (n);\n"}
	if err := d.migrate(t, sqlstore.MigrateAuto, bell, bad); err == nil || !strings.Contains(err.Error(), "0002_bell_n.sql makes no index concurrently") {
		t.Error(err)
	}
}
