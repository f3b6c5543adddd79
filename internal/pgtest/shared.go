package pgtest

import (
	"fmt"
	"os"
	"sync"
	"testing"
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
	name := takeFree()
	if name == "" {
		var err error
		if name, err = createDatabase(server); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		fresh, err := recycleDatabase(server, name)
		if err == nil {
			giveBack(fresh)
		} else if err := dropDatabase(server, fresh); err != nil {
			t.Error(err)
		}
	})
	return inDatabase(server, name).String()
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
		shared.server, shared.err = startCluster(bin, &Options{})
	}
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.server
}
