package pgtest

import (
	"context"
	"database/sql"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if orphanMain() || handingMain() {
		return
	}
	goleak.VerifyTestMain(Wrap(m))
}

// open is a pool of connections to dsn that t closes.
func open(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open("postgres", dsn)
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

// pin is one connection of its own to dsn.
func pin(t *testing.T, dsn string) *sql.Conn {
	t.Helper()
	conn, err := open(t, dsn).Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() }) // a test may have ended its server
	return conn
}

// querier is a pool or a connection.
type querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func run(t *testing.T, q querier, statement string) {
	t.Helper()
	if _, err := q.ExecContext(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func query(t *testing.T, q querier, statement string) string {
	t.Helper()
	var value string
	if err := q.QueryRowContext(t.Context(), statement).Scan(&value); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	return value
}
