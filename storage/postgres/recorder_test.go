package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"strings"
	"sync"
	"testing"

	"github.com/lib/pq"

	"github.com/belfry-go/belfry/internal/pgtest"
	"github.com/belfry-go/belfry/internal/testlevel"
)

// statement is one that a store sent, with its arguments.
type statement struct {
	text string
	args []any
}

// recorder is a pool's connector that notes the statements that pass.
type recorder struct {
	driver.Connector
	mu   sync.Mutex
	seen []statement
}

// recorded is a store on a host's pool of n connections, whose statements are
// noted.
func recorded(t testing.TB, dsn string, n int, opts *Options) (*Store, *recorder) {
	t.Helper()
	testlevel.Need(t, testlevel.Nightly) // plans and statistics
	inner, err := pq.NewConnector(pgtest.With(t, dsn, "binary_parameters", "yes"))
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{Connector: inner}
	db := sql.OpenDB(r)
	db.SetMaxOpenConns(n)
	t.Cleanup(func() { _ = db.Close() })
	s, err := New(t.Context(), db, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s, r
}

func (r *recorder) Connect(ctx context.Context) (driver.Conn, error) {
	c, err := r.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &recordedConn{c.(pqConn), r}, nil
}

type recordedConn struct {
	pqConn
	r *recorder
}

func (c *recordedConn) QueryContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Rows, error) {
	c.r.note(text, args)
	return c.pqConn.QueryContext(ctx, text, args)
}

func (c *recordedConn) ExecContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Result, error) {
	c.r.note(text, args)
	return c.pqConn.ExecContext(ctx, text, args)
}

func (r *recorder) note(text string, args []driver.NamedValue) {
	values := make([]any, len(args))
	for i, a := range args {
		values[i] = a.Value
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = append(r.seen, statement{text, values})
}

// during returns the statements with a prefix that f sends.
func (r *recorder) during(t testing.TB, prefix string, f func()) []statement {
	t.Helper()
	r.mu.Lock()
	r.seen = nil
	r.mu.Unlock()
	f()
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []statement
	for _, s := range r.seen {
		if strings.HasPrefix(s.text, prefix) {
			out = append(out, s)
		}
	}
	if len(out) == 0 {
		t.Fatalf("no statement began with %q", prefix)
	}
	return out
}
