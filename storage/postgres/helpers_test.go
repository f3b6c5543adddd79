package postgres

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"go.uber.org/goleak"

	"github.com/belfry-go/belfry/internal/faultnet"
	"github.com/belfry-go/belfry/internal/pgtest"
	"github.com/belfry-go/belfry/internal/testlevel"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/internal/sqlstore"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// task is the smallest table.
type task struct {
	driver.Record
	Note string `db:"note"`
}

var tasks = driver.Define[task]("task")

const (
	ready = "Ready"
	busy  = "Busy"
)

// realTime measures what the network does to a call.
var realTime = clock.New()

// emptyDSN is an empty database for what is beyond the contract, which a quick
// run leaves out.
func emptyDSN(t testing.TB) string {
	t.Helper()
	testlevel.Need(t, testlevel.All)
	return pgtest.DSN(t)
}

// ownServer is a server for a test that needs one to itself; a quick run leaves
// the test out.
func ownServer(t testing.TB, opts *pgtest.Options) *pgtest.Server {
	t.Helper()
	testlevel.Need(t, testlevel.All)
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

// dueTasks are n free tasks that are due.
func dueTasks(n int) []*task {
	out := make([]*task, n)
	for i := range out {
		out[i] = &task{Record: driver.Record{Key: fmt.Sprintf("task-%07d", i), Kind: "test", Status: ready, DueOn: noon}}
	}
	return out
}

func insert(t testing.TB, s *Store, rows ...*task) {
	t.Helper()
	err := s.InTx(t.Context(), func(tx driver.Tx) error {
		_, err := tasks.Insert(t.Context(), tx, rows...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// claimOf takes up to n due tasks of the normal lane.
func claimOf(token string, n int) driver.Claim {
	return driver.Claim{
		Statuses: []string{ready}, Busy: busy, Kinds: []string{"test"},
		Lanes: []driver.LaneClaim{{Lane: driver.LaneNormal, Limit: n}},
		Now:   noon, LeaseUntil: noon.Add(time.Minute), Token: token,
	}
}

func claim(ctx context.Context, s *Store, c driver.Claim) (rows []*task, err error) {
	err = s.InTx(ctx, func(tx driver.Tx) error {
		rows, err = tasks.Claim(ctx, tx, c)
		return err
	})
	return rows, err
}

func count(t testing.TB, s *Store, where ...driver.Cond) (n int) {
	t.Helper()
	err := s.InTx(t.Context(), func(tx driver.Tx) (err error) {
		n, err = tasks.Everywhere().Count(t.Context(), tx, 1_000_000, where...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
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

// until runs a query, which pauses by itself, until it answers true.
func until(t testing.TB, db *sql.DB, query string, args ...any) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for done := false; !done; {
		err := db.QueryRowContext(ctx, "SELECT ("+query+") FROM pg_sleep(0.01)", args...).Scan(&done)
		if err != nil {
			t.Fatal(query, err)
		}
	}
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

func request(text string) func([]byte) bool {
	return func(sent []byte) bool { return bytes.Contains(sent, []byte(text)) }
}

func wantErr(t testing.TB, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("got %v, want %v", err, want)
	}
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(pgtest.Wrap(m)) }
