package pgx

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/belfry-go/belfry/internal/pgtest"
	"github.com/belfry-go/belfry/internal/testlevel"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/internal/sqlstore"
	"github.com/belfry-go/belfry/storage/internal/traptest"
)

// emptyDSN is an empty database for what is beyond the contract, which a quick run
// leaves out.
func emptyDSN(t testing.TB) string {
	t.Helper()
	testlevel.Need(t, testlevel.Check)
	return pgtest.DSN(t)
}

// opened is a store on dsn with the table of tasks.
func opened(t testing.TB, dsn string, opts *Options) *Store {
	t.Helper()
	s, err := Open(t.Context(), dsn, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if err := sqlstore.CreateTable(t.Context(), s.Store, &traptest.Tasks.Schema); err != nil {
		t.Fatal(err)
	}
	return s
}

func scan[V any](t testing.TB, s *Store, text string, args ...any) (v V) {
	t.Helper()
	if err := s.Pool().QueryRow(t.Context(), text, args...).Scan(&v); err != nil {
		t.Fatal(text, err)
	}
	return v
}

// sqlcDBTX is what sqlc generates for pgx/v5, and what its queries run on.
type sqlcDBTX interface {
	Exec(context.Context, string, ...interface{}) (pgconn.CommandTag, error)
	Query(context.Context, string, ...interface{}) (pgx.Rows, error)
	QueryRow(context.Context, string, ...interface{}) pgx.Row
}

func TestSqlcsQueriesRunInAHostsTransaction(t *testing.T) {
	t.Parallel()
	s := opened(t, emptyDSN(t), nil)
	renew := func(db sqlcDBTX) error {
		_, err := db.Exec(t.Context(), "CREATE TABLE certificate (id int)")
		return err
	}
	errMind := errors.New("changed my mind")
	for _, want := range []error{errMind, nil} {
		err := s.InHostTx(t.Context(), func(ctx context.Context, host pgx.Tx, bound driver.Tx) error {
			if err := renew(host); err != nil {
				return err
			}
			if _, err := traptest.Tasks.Insert(ctx, bound, traptest.DueTasks(1)...); err != nil {
				return err
			}
			traptest.WantErr(t, traptest.Insert(ctx, s, traptest.DueTasks(2)...), driver.ErrJoined) // not bound
			return want
		})
		traptest.WantErr(t, err, want)
		there := scan[bool](t, s, "SELECT to_regclass('certificate') IS NOT NULL")
		if n := traptest.Count(t, s); there != (want == nil) || (n == 1) != (want == nil) {
			t.Errorf("after %v: table %t, %d tasks", want, there, n)
		}
	}
}

// A program that uses pgx alone links no other driver.
func TestNoOtherDriverIsLinked(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	deps := string(out)
	if !strings.Contains(deps, "github.com/jackc/pgx/v5\n") {
		t.Fatalf("not even pgx is among %d bytes of packages", len(deps))
	}
	for _, other := range []string{"github.com/lib/pq", "github.com/mattn/go-sqlite3", "github.com/jmoiron/sqlx", "testing\n"} {
		if strings.Contains(deps, other) {
			t.Errorf("links %s", other)
		}
	}
}

func TestUnsafeSettingsAreRefusedByName(t *testing.T) {
	t.Parallel()
	for dsn, setting := range map[string]string{
		"target_session_attrs=any":                          "target_session_attrs",
		"target_session_attrs='standby'":                    "target_session_attrs",
		"target_session_attrs = prefer-standby":             "target_session_attrs",
		"postgres://db/app?target_session_attrs=read-only":  "target_session_attrs",
		"postgres://db/app?target_session_attrs=primary":    "",
		"host=db connect_timeout=3":                         "",
		"connect_timeout=0":                                 "connect_timeout",
		"default_transaction_read_only=on":                  "default_transaction_read_only",
		"default_transaction_isolation='repeatable read'":   "default_transaction_isolation",
		"postgres://db/app?synchronous_commit=off":          "synchronous_commit",
		"standard_conforming_strings=off":                   "standard_conforming_strings",
		"postgres://db/app?default_transaction_read_only=1": "default_transaction_read_only",
	} {
		cfg, err := parse(dsn, 0)
		var refused *DSNError
		switch {
		case setting == "":
			if err != nil || cfg.MaxConns != 10 || cfg.ConnConfig.RuntimeParams["application_name"] != "belfry" {
				t.Errorf("%q: %v", dsn, err)
			}
		case !errors.As(err, &refused) || refused.Setting != setting:
			t.Errorf("%q: %v, want a refusal of %s", dsn, err, setting)
		}
	}
	for dsn, want := range map[string]int32{"": 10, "pool_max_conns=3": 3, "postgres://db/app?pool_max_conns=4": 4} {
		if cfg, err := parse(dsn, 0); err != nil || cfg.MaxConns != want {
			t.Errorf("%q: %v", dsn, err)
		}
		if cfg, err := parse(dsn, 7); err != nil || cfg.MaxConns != 7 {
			t.Errorf("%q: %v", dsn, err)
		}
	}
}

func TestMalformedConnectionStringsAreRefusedWithoutTheirSecrets(t *testing.T) {
	t.Parallel()
	for _, dsn := range []string{
		"host=db sslmode=maybe password=canary", "postgres://u:canary@db/app?sslmode=maybe", "postgres://u:canary%zz@db/app",
		"postgres://u:can ary@db:5432/app", "host=db password=can ary", "host=db password='canary", "port=canary",
		"host=db password=canary default_query_exec_mode=perhaps", "postgres://u:canary@db/app?pool_max_conns=x",
	} {
		_, err := parse(dsn, 0)
		var refused *DSNError
		if !errors.As(err, &refused) {
			t.Errorf("%q: %v", dsn, err)
			continue
		}
		if text := err.Error(); !strings.HasPrefix(dsn, "port") && (strings.Contains(text, "canary") || strings.Contains(text, `ary"`)) {
			t.Errorf("%q: the error shows the password: %s", dsn, text)
		}
	}
}

// prepares says whether connections of a store keep statements prepared.
func prepares(t testing.TB, s *Store) bool {
	t.Helper()
	for range 2 {
		if err := traptest.Insert(t.Context(), s, traptest.DueTasks(1)...); err != nil {
			t.Fatal(err)
		}
	}
	prepared := 0
	for _, c := range s.Pool().AcquireAllIdle(t.Context()) {
		var n int
		err := c.QueryRow(t.Context(), "SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE 'INSERT%'", pgx.QueryExecModeExec).Scan(&n)
		if err != nil {
			t.Error(err)
		}
		prepared += n
		c.Release()
	}
	return prepared > 0
}

func TestStatementsArePreparedWhereThatIsSafe(t *testing.T) {
	t.Parallel()
	direct := emptyDSN(t)
	s := opened(t, direct, nil)
	if !prepares(t, s) {
		t.Error("nothing is prepared on a direct connection")
	}
	for name, dsn := range map[string]string{
		"told by the connection string": pgtest.With(t, direct, "default_query_exec_mode", "exec"),
		"through a pooler":              pgtest.Bouncer(t, direct, nil),
	} {
		s, err := Open(t.Context(), dsn, nil)
		if err != nil {
			t.Fatal(name, err)
		}
		if prepares(t, s) {
			t.Errorf("%s: statements are prepared", name)
		}
		_ = s.Close()
	}
}

// The pool that Open makes is the host's as well, and so are its transactions.
func TestStatementsOfTheHostGoThroughAPoolerToo(t *testing.T) {
	t.Parallel()
	s := opened(t, pgtest.Bouncer(t, emptyDSN(t), map[string]string{"default_pool_size": "2"}), nil)
	var clients sync.WaitGroup
	for c := range 8 {
		clients.Go(func() {
			for i := range 20 {
				var sum, product int
				err := s.Pool().QueryRow(t.Context(), "SELECT $1::int + $2::int", c, i).Scan(&sum)
				if err == nil {
					err = s.InHostTx(t.Context(), func(ctx context.Context, host pgx.Tx, _ driver.Tx) error {
						return host.QueryRow(ctx, "SELECT $1::int * $2::int", c, i).Scan(&product)
					})
				}
				if err != nil || sum != c+i || product != c*i {
					t.Errorf("of %d and %d: %d, %d, %v", c, i, sum, product, err)
				}
			}
		})
	}
	clients.Wait()
}

func TestUnsafeHostPoolIsRefused(t *testing.T) {
	t.Parallel()
	direct := emptyDSN(t)
	pooled := pgtest.Bouncer(t, direct, nil)
	opts := &Options{Migrate: MigrateAuto}
	for mode, fine := range map[string]bool{
		"cache_statement": false, "describe_exec": false, "cache_describe": true, "exec": true, "simple_protocol": true,
	} {
		for way, dsn := range map[string]string{"direct": direct, "pooled": pooled} {
			s, err := New(t.Context(), hostPool(t, pgtest.With(t, dsn, "default_query_exec_mode", mode), 0), opts)
			var refused *ServerError
			if want := fine || way == "direct"; want != (err == nil) || err != nil && !errors.As(err, &refused) {
				t.Errorf("%s, %s: %v", mode, way, err)
			}
			if err == nil {
				_ = s.Close()
			}
		}
	}
}

// A pooler came between, or its connections were mixed after the self-test: what is
// prepared elsewhere fails once, and the store goes on without.
func TestAMislaidStatementIsTheLastOne(t *testing.T) {
	t.Parallel()
	s := opened(t, emptyDSN(t), &Options{MaxOpenConns: 1})
	if !prepares(t, s) {
		t.Fatal("nothing is prepared")
	}
	if _, err := s.Pool().Exec(t.Context(), "DEALLOCATE ALL"); err != nil { // another backend has none
		t.Fatal(err)
	}
	if err := traptest.Insert(t.Context(), s, traptest.DueTasks(3)...); err != nil {
		t.Error(err)
	}
	if n := traptest.Count(t, s); n != 3 || !s.whole.Load() {
		t.Errorf("%d tasks; sent whole: %t", n, s.whole.Load())
	}
}

// A newer version of the program adds columns while this one runs with its statements
// prepared.
func TestPreparedStatementsOutliveAMigration(t *testing.T) {
	t.Parallel()
	s := opened(t, emptyDSN(t), &Options{MaxOpenConns: 1})
	rows := traptest.DueTasks(2)
	for i, change := range []string{"SELECT 1", "ALTER TABLE task ADD COLUMN later text NOT NULL DEFAULT ''", "ALTER TABLE task DROP COLUMN later"} {
		if _, err := s.Pool().Exec(t.Context(), change); err != nil {
			t.Fatal(err)
		}
		if err := traptest.Insert(t.Context(), s, rows...); err != nil {
			t.Error(change, err)
		}
		if i == 0 {
			continue
		}
		if _, err := s.Next(t.Context(), &traptest.Tasks.Schema, traptest.ClaimOf("", 1), traptest.Noon); err != nil {
			t.Error(change, err)
		}
		if held, err := traptest.Claimed(t.Context(), s, traptest.ClaimOf(change[:9], 1)); err != nil || len(held) != 1 {
			t.Error(change, held, err)
		}
	}
}

// A host that forgot its transaction would keep pgx's pool open for ever.
func TestCloseDoesNotWaitForAForgottenTransaction(t *testing.T) {
	t.Parallel()
	s := opened(t, emptyDSN(t), nil)
	tx, err := s.Pool().Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil { // while the transaction is open
		t.Error(err)
	}
	_ = tx.Rollback(t.Context())
}

func TestNewRefusesWhatItCannotServe(t *testing.T) {
	t.Parallel()
	dsn := emptyDSN(t)
	if _, err := New(t.Context(), hostPool(t, dsn, 0), &Options{Notify: true}); err == nil {
		t.Error("New took an option that it cannot serve")
	}
	if _, err := New(t.Context(), hostPool(t, dsn, 0), nil); err == nil || !strings.Contains(err.Error(), "0001_store.sql") {
		t.Errorf("verified an empty database: %v", err)
	}
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	_, _ = New(t.Context(), nil, nil)
}

func TestErrorsOfPgxAreClassified(t *testing.T) {
	t.Parallel()
	s := &Store{}
	for _, c := range []struct {
		err  error
		want sqlstore.Class
	}{
		{&pgconn.PgError{Code: "40P01"}, sqlstore.Serialization},
		{&pgconn.PgError{Code: "53300"}, sqlstore.NoRoom},
		{&pgconn.PgError{Code: "57P01"}, sqlstore.Connection},
		{pgx.ErrTxCommitRollback, sqlstore.Undone},
		{context.DeadlineExceeded, sqlstore.Unknown},
		{errors.New("something else"), sqlstore.Unknown},
		{nil, sqlstore.Unknown},
	} {
		if got := s.classify(c.err); got != c.want {
			t.Errorf("%v is %v, want %v", c.err, got, c.want)
		}
	}
}
