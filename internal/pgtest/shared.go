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

	_ "github.com/lib/pq" // the driver that creates, empties and drops
)

// shared is the cluster of this test process, started by the first DSN.
var shared struct {
	sync.Mutex
	managed bool // somebody will stop it
	server  *Server
	err     error    // why it did not start
	free    []string // databases that tests have given back, empty
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
// has ended; sessions still open are ended then. All databases of a test
// process are on one server, which a test must not stop. Where PostgreSQL is
// missing the test is skipped, or fails as the package comment says.
func DSN(t testing.TB) string {
	t.Helper()
	if server := os.Getenv("BELFRY_POSTGRES_DSN"); server != "" {
		return createOn(t, server)
	}
	server := parse(t, sharedServer(t).DSN())
	name, err := freeOrCreated(server)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := recycle(server, name); err != nil {
			t.Error(err)
		}
	})
	return inDatabase(server, name).String()
}

func freeOrCreated(server *url.URL) (string, error) {
	if name := takeFree(); name != "" {
		return name, nil
	}
	return createDatabase(server)
}

// recycle empties a database for the next test, or drops it.
func recycle(server *url.URL, name string) error {
	fresh, err := recycleDatabase(server, name)
	if err != nil {
		return dropDatabase(server, fresh)
	}
	giveBack(fresh)
	return nil
}

// createOn makes a database on a server that is not ours, where nothing is to
// be left behind.
func createOn(t testing.TB, dsn string) string {
	t.Helper()
	server := parse(t, dsn)
	name, err := createDatabase(server)
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

func takeFree() string {
	shared.Lock()
	defer shared.Unlock()
	if len(shared.free) == 0 {
		return ""
	}
	last := len(shared.free) - 1
	name := shared.free[last]
	shared.free = shared.free[:last]
	return name
}

func giveBack(name string) {
	shared.Lock()
	defer shared.Unlock()
	shared.free = append(shared.free, name)
}

func sharedServer(t testing.TB) *Server {
	t.Helper()
	bin := requirePostgres(t)
	shared.Lock()
	defer shared.Unlock()
	if !shared.managed {
		t.Fatal("pgtest: DSN needs `func TestMain(m *testing.M) { pgtest.Main(m) }` in this package, which stops the server")
	}
	if shared.server == nil && shared.err == nil {
		shared.server, shared.err = startCluster(bin, &Options{NoFsync: true})
	}
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.server
}

// adminTimeout bounds creating, emptying and dropping a database.
const adminTimeout = time.Minute

func newName() string { return fmt.Sprintf("belfry_test_%016x", rand.Uint64()) }

// createDatabase makes an empty database on a server and returns its name.
func createDatabase(server *url.URL) (string, error) {
	name := newName()
	if err := admin(server, "CREATE DATABASE "+name+" TEMPLATE template0"); err != nil {
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

// recycleDatabase empties a database and returns its new name: who still has
// the old one must not meet the next test. It is several times as fast as
// dropping and creating, which copies about a thousand files. An error means
// that the database is better dropped.
func recycleDatabase(server *url.URL, name string) (string, error) {
	fresh, err := rename(server, name)
	if err != nil {
		return name, err
	}
	return fresh, admin(inDatabase(server, fresh), `
		DO $$ DECLARE found name; BEGIN
			FOR found IN SELECT nspname FROM pg_namespace
				WHERE nspname <> 'information_schema' AND nspname NOT LIKE 'pg\_%'
			LOOP
				EXECUTE format('DROP SCHEMA %I CASCADE', found);
			END LOOP;
		END $$;
		CREATE SCHEMA public AUTHORIZATION pg_database_owner;
		GRANT USAGE ON SCHEMA public TO PUBLIC`)
}

// rename ends the sessions of a database, and gives it a name that nobody knows.
func rename(server *url.URL, name string) (string, error) {
	fresh := newName()
	return fresh, admin(server, fmt.Sprintf(`
		SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
			WHERE datname = '%[1]s' AND backend_type = 'client backend';
		ALTER DATABASE %[1]s RENAME TO %[2]s;
		ALTER DATABASE %[2]s RESET ALL`, name, fresh))
}

func admin(server *url.URL, statements string) error {
	db, err := sql.Open("postgres", server.String())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), adminTimeout)
	defer cancel()
	_, err = db.ExecContext(ctx, statements)
	return errors.Join(err, db.Close())
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
		return nil, errors.New("pgtest: the DSN is no URL of the form postgres://user@host:port/database")
	}
	if (u.Scheme != "postgres" && u.Scheme != "postgresql") || u.Host == "" {
		return nil, fmt.Errorf("pgtest: the DSN must have the form postgres://user@host:port/database, this has scheme %q and host %q", u.Scheme, u.Host)
	}
	return u, nil
}
