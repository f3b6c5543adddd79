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

func TestADatabaseGoesThoughItsSessionsStay(t *testing.T) {
	t.Parallel()
	requirePrivate(t)
	var session *sql.DB
	var dsn string
	t.Run("a test that leaks", func(t *testing.T) {
		var err error
		dsn = DSN(t)
		if session, err = sql.Open("postgres", dsn); err != nil {
			t.Fatal(err)
		}
		run(t, session, "CREATE TABLE letters (x text)")
	})
	if _, err := session.ExecContext(t.Context(), "INSERT INTO letters VALUES ('x')"); err == nil {
		t.Error("a session outlived its test")
	}
	if err := open(t, dsn).PingContext(t.Context()); err == nil {
		t.Error("the database of a test that has ended is still there")
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
		"max_connections":    "1000",
		"TimeZone":           "Asia/Kathmandu",
		"listen_addresses":   "127.0.0.1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("settings (-want +got):\n%s", diff)
	}
}
