package pgtest

import (
	"database/sql"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/internal/testlevel"
)

func TestEveryDSNIsADatabaseOfItsOwn(t *testing.T) {
	t.Parallel()
	testlevel.Need(t, testlevel.Check)
	a, b := open(t, DSN(t)), open(t, DSN(t))
	run(t, a, "CREATE TABLE letters (x text)")
	if got := query(t, b, "SELECT to_regclass('letters') IS NULL"); got != "true" {
		t.Fatal("a table of one database is in another")
	}
}

// Databases are used again, which the next test must not notice.
func TestADatabaseIsEmptyAndUnknownWhateverTheLastTestDid(t *testing.T) {
	t.Parallel()
	requirePrivate(t)
	var left []string
	for _, mess := range []string{
		"CREATE TABLE letters (x text)",
		"CREATE SCHEMA other; CREATE VIEW other.v AS SELECT 1; CREATE FUNCTION f() RETURNS int RETURN 1",
		"CREATE TYPE mood AS ENUM ('calm'); CREATE SEQUENCE s",
		"DROP SCHEMA public",
		"DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = on', current_database()); END $$",
		"BEGIN; CREATE TABLE locked (x text)",
	} {
		t.Run(mess, func(t *testing.T) {
			dsn := DSN(t)
			conn := pin(t, dsn)
			if got := query(t, conn, inhabitants); got != "public" {
				t.Errorf("before the test there is %s", got)
			}
			if got := query(t, conn, "SHOW default_transaction_read_only"); got != "off" {
				t.Error("the database is read-only")
			}
			run(t, conn, mess)
			left = append(left, dsn)
		})
	}
	for _, dsn := range left {
		if err := open(t, dsn).PingContext(t.Context()); err == nil {
			t.Errorf("the database of a test that has ended is still at %s", dsn)
		}
	}
}

// inhabitants lists what is in a database: schemas, relations, functions and
// types.
const inhabitants = `
	SELECT string_agg(what, ' ' ORDER BY what) FROM (
		SELECT nspname AS what FROM pg_namespace WHERE nspname NOT LIKE 'pg\_%' AND nspname <> 'information_schema'
		UNION ALL SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace
		UNION ALL SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace
		UNION ALL SELECT typname FROM pg_type WHERE typnamespace = 'public'::regnamespace) AS everything`

func TestADatabaseGoesThoughItsSessionsStay(t *testing.T) {
	t.Parallel()
	requirePrivate(t)
	var session *sql.DB
	t.Run("a test that leaks", func(t *testing.T) {
		var err error
		if session, err = sql.Open("postgres", DSN(t)); err != nil {
			t.Fatal(err)
		}
		run(t, session, "CREATE TABLE letters (x text)")
	})
	if _, err := session.ExecContext(t.Context(), "INSERT INTO letters VALUES ('x')"); err == nil {
		t.Error("a session outlived its test")
	}
	if err := session.Close(); err != nil {
		t.Fatal(err)
	}
}

// The settings that the package comment promises, as a session sees them.
func TestTheServerIsSetUpAsPromised(t *testing.T) {
	t.Parallel()
	requirePrivate(t)
	db := open(t, DSN(t))
	got := map[string]string{
		"'B' < 'a'": query(t, db, "SELECT 'B' < 'a'"),
		"'a' < 'B'": query(t, db, "SELECT 'a' < 'B'"),
	}
	for _, name := range []string{"fsync", "synchronous_commit", "max_connections", "TimeZone", "listen_addresses"} {
		got[name] = query(t, db, "SHOW "+name)
	}
	want := map[string]string{
		"'B' < 'a'":          "false",
		"'a' < 'B'":          "true",
		"fsync":              "off",
		"synchronous_commit": "on",
		"max_connections":    "200",
		"TimeZone":           "Asia/Kathmandu",
		"listen_addresses":   "127.0.0.1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("settings (-want +got):\n%s", diff)
	}
}
