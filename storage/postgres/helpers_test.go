package postgres

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/benbjohnson/clock"
	"go.uber.org/goleak"

	"github.com/belfry-go/belfry/internal/faultnet"
	"github.com/belfry-go/belfry/internal/pgtest"
	"github.com/belfry-go/belfry/internal/testlevel"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/internal/sqlstore"
	"github.com/belfry-go/belfry/storage/internal/traptest"
)

// What the traps work with is used here too.
type task = traptest.Task

const ready = traptest.Ready

var (
	noon     = traptest.Noon
	tasks    = traptest.Tasks
	dueTasks = traptest.DueTasks
	claimOf  = traptest.ClaimOf
	settle   = traptest.Settle
	until    = traptest.Until
	wantErr  = traptest.WantErr
)

func claim(ctx context.Context, s *Store, c driver.Claim) ([]*task, error) {
	return traptest.Claimed(ctx, s, c)
}

func insert(t testing.TB, s *Store, rows ...*task) {
	t.Helper()
	if err := traptest.Insert(t.Context(), s, rows...); err != nil {
		t.Fatal(err)
	}
}

// realTime measures what the network does to a call.
var realTime = clock.New()

// emptyDSN is an empty database for what is beyond the contract, which a quick
// run leaves out.
func emptyDSN(t testing.TB) string {
	t.Helper()
	testlevel.Need(t, testlevel.Check)
	return pgtest.DSN(t)
}

// ownServer is a server for a test that needs one to itself; only a run of level nightly
// takes the test.
func ownServer(t testing.TB, opts *pgtest.Options) *pgtest.Server {
	t.Helper()
	testlevel.Need(t, testlevel.Nightly)
	return pgtest.New(t, opts)
}

// opened is a store on dsn with the table of tasks.
func opened(t testing.TB, dsn string, opts *Options) *Store {
	t.Helper()
	s := reopened(t, dsn, opts)
	if err := sqlstore.CreateTable(t.Context(), s.Store, &tasks.Schema); err != nil {
		t.Fatal(err)
	}
	return s
}

// reopened is another store on a database that has the table.
func reopened(t testing.TB, dsn string, opts *Options) *Store {
	t.Helper()
	s, err := Open(t.Context(), dsn, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// viaProxy is a DSN through a proxy, and the proxy.
func viaProxy(t testing.TB, dsn string) (string, *faultnet.Proxy) {
	t.Helper()
	p := faultnet.Start(t, pgtest.Addr(t, dsn))
	return pgtest.Via(t, dsn, p.Addr()), p
}

func exec(t testing.TB, db *sql.DB, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatal(s, err)
		}
	}
}

// scan reads one value.
func scan[V any](t testing.TB, db *sql.DB, query string, args ...any) (v V) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), query, args...).Scan(&v); err != nil {
		t.Fatal(query, err)
	}
	return v
}

// logged are the passages of the server's log that begin with text, if it is a
// server of the tests.
func logged(t testing.TB, db *sql.DB, text string) (passages []string) {
	t.Helper()
	log, err := os.ReadFile(filepath.Join(filepath.Dir(scan[string](t, db, "SHOW data_directory")), "log"))
	if err != nil {
		return []string{err.Error()}
	}
	for _, passage := range strings.Split(string(log), text)[1:] {
		passages = append(passages, text+passage[:min(len(passage), 2000)])
	}
	return passages
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(pgtest.Wrap(m)) }
