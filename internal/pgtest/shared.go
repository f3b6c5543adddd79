package pgtest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/lib/pq" // the driver that creates and drops
)

// shared is the cluster of this test process, started by the first DSN. A run that hands
// one on needs none.
var shared struct {
	sync.Mutex
	managed bool // something will stop it
	server  *Server
	err     error // why it did not start
}

// Runner runs the tests of a package; a *testing.M is one.
type Runner interface{ Run() int }

// Main is for the TestMain of a package that calls DSN. It runs the tests,
// stops what DSN started, and exits.
func Main(m *testing.M) { os.Exit(Wrap(m).Run()) }

// Wrap is Main for a TestMain with more to do, such as goleak.VerifyTestMain:
// the Runner it returns stops what DSN started after m has run.
func Wrap(m Runner) Runner {
	shared.Lock()
	defer shared.Unlock()
	shared.managed = true
	return stopping{m}
}

type stopping struct{ Runner }

func (s stopping) Run() int {
	code := s.Runner.Run()
	shared.Lock()
	defer shared.Unlock()
	if shared.server == nil {
		return code
	}
	if err := shared.server.Remove(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return max(code, 1)
	}
	return code
}

// DSN gives t an empty database and returns its URL, which leads nowhere once t
// has ended; sessions still open are ended then. All databases of DSN are on one
// server, which a test must not stop. Where PostgreSQL is missing the test is skipped,
// or fails as the package comment says.
func DSN(t testing.TB) string {
	t.Helper()
	if dsn := os.Getenv("BELFRY_POSTGRES_DSN"); dsn != "" {
		server := parse(t, dsn)
		name, err := createDatabase(server)
		return until(t, server, name, err)
	}
	server := sharedCluster(t)
	name, err := copyDatabase(server, "template0")
	return until(t, server, name, err)
}

// until is the URL of a database that is dropped when t ends; err is why there is none.
func until(t testing.TB, server *url.URL, name string, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := dropDatabase(server, name); err != nil {
			t.Error(err)
		}
	})
	return inDatabase(server, name).String()
}

// sharedCluster is the URL of the server for DSN: the one of the whole run, or else one
// that this process starts.
func sharedCluster(t testing.TB) *url.URL {
	t.Helper()
	bin := requirePostgres(t)
	shared.Lock()
	defer shared.Unlock()
	if !shared.managed {
		t.Fatal("pgtest: DSN needs `func TestMain(m *testing.M) { pgtest.Main(m) }` in this package, which stops the server")
	}
	if dsn := handedOn(); dsn != "" {
		return parse(t, dsn)
	}
	if shared.server == nil && shared.err == nil {
		shared.server, shared.err = startCluster(bin, sharedOptions)
	}
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return parse(t, shared.server.DSN())
}

// sharedOptions are for a cluster that many tests use at the same time.
var sharedOptions = &Options{NoFsync: true, Settings: map[string]string{"max_connections": "1000"}}

// adminTimeout is a limit against hanging only.
const adminTimeout = 5 * time.Minute

func newName() string { return fmt.Sprintf("belfry_test_%016x", rand.Uint64()) }

// createDatabase makes an empty database on a server and returns its name.
func createDatabase(server *url.URL) (string, error) {
	return create(server, "TEMPLATE template0")
}

// copyDatabase is createDatabase for one that begins as a copy of template, by files
// where the server knows how (15 and later). That takes half the time of a copy by the
// log where fsync is off.
func copyDatabase(server *url.URL, template string) (string, error) {
	var files bool
	err := session(server, func(ctx context.Context, db *sql.DB) error {
		return db.QueryRowContext(ctx, "SELECT current_setting('server_version_num')::int >= 150000").Scan(&files)
	})
	if err != nil {
		return "", err
	}
	how := "TEMPLATE " + template
	if files {
		how += " STRATEGY FILE_COPY"
	}
	return create(server, how)
}

func create(server *url.URL, how string) (string, error) {
	name := newName()
	if err := admin(server, "CREATE DATABASE "+name+" "+how); err != nil {
		return "", fmt.Errorf("pgtest: create database: %w", err)
	}
	return name, nil
}

// dropDatabase drops it, and ends the sessions it has.
func dropDatabase(server *url.URL, name string) error {
	if err := admin(server, "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
		return fmt.Errorf("pgtest: drop database: %w", err)
	}
	return nil
}

// admin executes a statement, again while sessions that are ending still use its
// database. The server itself waits 5 s for them.
func admin(server *url.URL, statement string) error {
	return session(server, func(ctx context.Context, db *sql.DB) error {
		for {
			_, err := db.ExecContext(ctx, statement)
			if !failedAs(err, "object_in_use") {
				return err
			}
		}
	})
}

// failedAs reports whether the server refused a statement with that error, by its name
// in PostgreSQL's documentation.
func failedAs(err error, name string) bool {
	var refused *pq.Error
	return errors.As(err, &refused) && refused.Code.Name() == name
}

// session opens the database at a URL for do.
func session(at *url.URL, do func(context.Context, *sql.DB) error) error {
	db, err := sql.Open("postgres", at.String())
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	ctx, cancel := context.WithTimeout(context.Background(), adminTimeout)
	defer cancel()
	return errors.Join(do(ctx, db), db.Close())
}

// inDatabase is the URL of another database on the server.
func inDatabase(server *url.URL, name string) *url.URL {
	u := *server
	u.Path = "/" + name
	return &u
}

// Addr is the host:port of a DSN of this package, for a proxy to forward to.
func Addr(t testing.TB, dsn string) string {
	t.Helper()
	u := parse(t, dsn)
	port := u.Port()
	if port == "" {
		port = "5432"
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// Via is dsn with another host:port, that of a proxy.
func Via(t testing.TB, dsn, addr string) string {
	t.Helper()
	u := parse(t, dsn)
	u.Host = addr
	return u.String()
}

// With is dsn with one more connection parameter, such as binary_parameters.
func With(t testing.TB, dsn, name, value string) string {
	t.Helper()
	u := parse(t, dsn)
	query := u.Query()
	query.Set(name, value)
	u.RawQuery = query.Encode()
	return u.String()
}

func parse(t testing.TB, dsn string) *url.URL {
	t.Helper()
	u, err := parseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// parseDSN reads a DSN in its URL form, the only one here. Its errors leave out
// what may be a password.
func parseDSN(dsn string) (*url.URL, error) {
	u, err := url.Parse(dsn)
	if err != nil {
		return nil, errors.New("pgtest: the DSN is not a URL of the form postgres://user@host:port/database")
	}
	if (u.Scheme != "postgres" && u.Scheme != "postgresql") || u.Host == "" {
		return nil, fmt.Errorf("pgtest: the DSN must have the form postgres://user@host:port/database, this has scheme %q and host %q", u.Scheme, u.Host)
	}
	return u, nil
}
