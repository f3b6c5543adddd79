package pgtest

import (
	"database/sql"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/belfry-go/belfry/internal/testlevel"
)

// requirePrivate skips what a server given by the environment does not promise.
func requirePrivate(t *testing.T) {
	t.Helper()
	testlevel.Need(t, testlevel.Nightly)
	skipGiven(t)
}

func skipGiven(t *testing.T) {
	t.Helper()
	if os.Getenv("BELFRY_POSTGRES_DSN") != "" {
		t.Skip("the server of BELFRY_POSTGRES_DSN has its own settings")
	}
}

func TestWhatWasCommittedSurvives(t *testing.T) {
	t.Parallel()
	testlevel.Need(t, testlevel.Nightly)
	server := New(t, nil)
	dsn := server.Database(t)
	run(t, open(t, dsn), "CREATE TABLE bells (n int)")
	for _, fault := range []struct {
		name string
		do   func() error
	}{
		{"a restart", server.Restart},
		{"an immediate stop", func() error { return join(server.Stop, server.Start) }},
		{"a killed postmaster", func() error { return join(server.Kill, server.Start) }},
	} {
		db := open(t, dsn)
		before := query(t, db, "SELECT count(*) + 1 FROM bells")
		run(t, db, "INSERT INTO bells VALUES (1)")
		busy := inTransaction(t, dsn)

		if err := fault.do(); err != nil {
			t.Fatalf("%s: %v", fault.name, err)
		}
		if _, err := busy.ExecContext(t.Context(), "COMMIT"); err == nil {
			t.Fatalf("a session outlived %s", fault.name)
		}
		if got := query(t, open(t, dsn), "SELECT count(*) FROM bells"); got != before {
			t.Fatalf("after %s there are %s rows, want %s", fault.name, got, before)
		}
	}
}

func join(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// inTransaction is a session with an uncommitted row.
func inTransaction(t *testing.T, dsn string) *sql.Conn {
	t.Helper()
	conn := pin(t, dsn)
	run(t, conn, "BEGIN")
	run(t, conn, "INSERT INTO bells VALUES (1)")
	return conn
}

func TestStartAndStopMayBeRepeated(t *testing.T) {
	t.Parallel()
	testlevel.Need(t, testlevel.Nightly)
	server := New(t, nil)
	for _, step := range []func() error{server.Start, server.Stop, server.Stop, server.Kill, server.Start} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	query(t, open(t, server.DSN()), "SELECT 1")
}

func TestOptionsReachTheServer(t *testing.T) {
	t.Parallel()
	testlevel.Need(t, testlevel.Nightly)
	server := New(t, &Options{NoFsync: true, Settings: map[string]string{
		"autovacuum": "off", "timezone": "UTC",
	}})
	db := open(t, server.DSN())
	for name, want := range map[string]string{"fsync": "off", "autovacuum": "off", "TimeZone": "UTC"} {
		if got := query(t, db, "SHOW "+name); got != want {
			t.Errorf("%s = %s, want %s", name, got, want)
		}
	}
}

func TestAFailedStartShowsTheServersLog(t *testing.T) {
	t.Parallel()
	testlevel.Need(t, testlevel.Nightly)
	_, err := startCluster(requirePostgres(t), &Options{Settings: map[string]string{"work_mem": "plenty"}})
	if err == nil {
		t.Fatal("a server with a nonsense setting started")
	}
	if want := `invalid value for parameter "work_mem"`; !strings.Contains(err.Error(), want) {
		t.Fatalf("the error does not say %q:\n%v", want, err)
	}
}

func TestATakenPortIsToldApart(t *testing.T) {
	t.Parallel()
	testlevel.Need(t, testlevel.Nightly)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	server := New(t, nil)
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	server.port = listener.Addr().(*net.TCPAddr).Port
	tries := 0
	err = onFreePort(func(port int) error {
		tries++
		if tries > 1 {
			server.port = port
		}
		return server.Start()
	})
	if err != nil || tries != 2 {
		t.Fatalf("%d tries, %v; want the second to find another port", tries, err)
	}
}
