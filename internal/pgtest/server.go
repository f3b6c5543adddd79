package pgtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Options are for New. A nil *Options is the zero value.
type Options struct {
	// NoFsync turns fsync off. That is faster, and what was committed still
	// survives Stop and Kill, though not a power failure.
	NoFsync bool
	// Settings are configuration parameters as in postgresql.conf. They win
	// over the package's own.
	Settings map[string]string
}

// Server is one private PostgreSQL cluster. Its methods may be called from any
// goroutine; those that start and stop it run one at a time.
type Server struct {
	bin      string
	as       *account
	dir      *workdir
	port     int
	settings map[string]string

	mu      sync.Mutex
	service *service // nil before the first start
}

// New starts a cluster of its own for t, and removes it when t ends. It takes
// about a second, so tests that only need a database call DSN. Where PostgreSQL
// is missing the test is skipped, or fails as the package comment says.
func New(t testing.TB, opts *Options) *Server {
	t.Helper()
	if opts == nil {
		opts = &Options{}
	}
	s, err := startCluster(requirePostgres(t), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Remove(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// Launch is New for a program that is not a test, such as a benchmark. The caller
// removes the cluster.
func Launch(opts *Options) (*Server, error) {
	if opts == nil {
		opts = &Options{}
	}
	bin, err := findPostgres()
	if err != nil {
		return nil, err
	}
	return startCluster(bin, opts)
}

// DSN is the URL of the cluster's maintenance database, postgres, as its
// superuser. It stays the same when the server is restarted.
func (s *Server) DSN() string {
	return fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres?sslmode=disable", s.port)
}

// Database creates an empty database and returns its URL. It lasts as long as
// the cluster.
func (s *Server) Database(t testing.TB) string {
	t.Helper()
	dsn, err := s.CreateDatabase()
	if err != nil {
		t.Fatal(err)
	}
	return dsn
}

// CreateDatabase is Database for a program that is not a test.
func (s *Server) CreateDatabase() (string, error) {
	server, err := url.Parse(s.DSN())
	if err != nil {
		return "", err
	}
	name, err := createDatabase(server)
	if err != nil {
		return "", err
	}
	return inDatabase(server, name).String(), nil
}

// startCluster makes a cluster and starts it. The caller removes it.
func startCluster(bin string, opts *Options) (*Server, error) {
	as, err := serverAccount()
	if err != nil {
		return nil, err
	}
	dir, err := newWorkdir(as)
	if err != nil {
		return nil, err
	}
	s := &Server{bin: bin, as: as, dir: dir, settings: settings(dir, opts)}
	err = s.initdb()
	if err == nil {
		err = onFreePort(func(port int) error {
			s.port = port
			return s.Start()
		})
	}
	if err != nil {
		return nil, errors.Join(err, s.Remove())
	}
	return s, nil
}

func settings(dir *workdir, opts *Options) map[string]string {
	all := map[string]string{
		"listen_addresses":        "127.0.0.1",
		"unix_socket_directories": dir.path,
		"max_connections":         "200",
		"timezone":                "Asia/Kathmandu",
		"fsync":                   strconv.FormatBool(!opts.NoFsync),
	}
	maps.Copy(all, opts.Settings)
	return all
}

func (s *Server) initdb() error {
	version, err := serverVersion(s.bin)
	if err != nil {
		return err
	}
	args := []string{"--pgdata", s.dir.file(dataName), "--username=postgres", "--auth=trust", "--encoding=UTF8", "--no-sync", "--locale=C"}
	if version >= 15 { // before, a database has no such default
		args = append(args, "--locale-provider=icu", "--icu-locale=en-US")
	}
	cmd := exec.Command(filepath.Join(s.bin, "initdb"), args...)
	var output strings.Builder
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.dir.path, &output, &output
	p, err := launch(cmd, s.as, immediate)
	if err != nil {
		return fmt.Errorf("pgtest: %w", err)
	}
	<-p.done
	if !cmd.ProcessState.Success() {
		return fmt.Errorf("pgtest: initdb: %s; its output:\n%s", cmd.ProcessState, &output)
	}
	return nil
}

// Remove stops the server and deletes the cluster. New and DSN see to it
// themselves.
func (s *Server) Remove() error {
	return errors.Join(s.Stop(), s.dir.remove())
}

// immediate asks PostgreSQL for an immediate shutdown: it ends every session at
// once and recovers on the next start, as after a crash.
const immediate = syscall.SIGQUIT

// accepting is the line of PostgreSQL's log that ends its start.
const accepting = "database system is ready to accept " // a standby: read-only connections

// Stop shuts the server down in immediate mode and waits for its end: sessions
// end without a word, committed work survives. Stopping twice is allowed.
func (s *Server) Stop() error { return s.end(immediate) }

// Kill sends SIGKILL to the postmaster and waits for its end. Its sessions
// notice for themselves, some a moment later; Start waits for them.
func (s *Server) Kill() error { return s.end(syscall.SIGKILL) }

// Restart is Stop and Start.
func (s *Server) Restart() error {
	if err := s.Stop(); err != nil {
		return err
	}
	return s.Start()
}

// Start starts a server that was stopped or killed, on its old port, and
// returns when it accepts connections. A running server is left alone. An error
// has the server's log in it.
func (s *Server) Start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for {
		err := s.startOnce(ctx)
		if !errors.Is(err, errInUse) {
			return err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return err
		}
	}
}

func (s *Server) running() bool { return s.service != nil && !s.service.ended() }

func (s *Server) end(signal syscall.Signal) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.running() {
		return nil
	}
	return s.service.end(signal)
}

func (s *Server) startOnce(ctx context.Context) error {
	args := []string{"-D", s.dir.file(dataName), "-p", strconv.Itoa(s.port)}
	for name, value := range s.settings {
		args = append(args, "-c", name+"="+value)
	}
	cmd := exec.Command(filepath.Join(s.bin, "postgres"), args...)
	cmd.Dir = s.dir.path
	started, err := startService(ctx, cmd, s.as, immediate, s.dir.file(logName), accepting)
	if err != nil {
		return err
	}
	s.service = started
	return nil
}

// Restore dumps the database at the URL from and restores it into the empty one at
// the URL into, which may be on another server.
func Restore(t testing.TB, from, into string) {
	t.Helper()
	dump := exec.CommandContext(t.Context(), client(t, "pg_dump"), "--no-owner", "--dbname="+from)
	var sql, problems bytes.Buffer
	dump.Stdout, dump.Stderr = &sql, &problems
	if err := dump.Run(); err != nil {
		t.Fatalf("pgtest: pg_dump: %v: %s", err, problems.String())
	}
	restore := exec.CommandContext(t.Context(), client(t, "psql"), "--quiet", "--set=ON_ERROR_STOP=1", "--dbname="+into)
	restore.Stdin, restore.Stderr = &sql, &problems
	if err := restore.Run(); err != nil {
		t.Fatalf("pgtest: psql: %v: %s", err, problems.String())
	}
}

// client finds a program of PostgreSQL's clients. They lie beside the server's, of
// which only some may be on the PATH.
func client(t testing.TB, name string) string {
	t.Helper()
	for _, dir := range postgresDirs() {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	required.missing(t, fmt.Errorf("needs %s of PostgreSQL's clients", name))
	return ""
}

// PSQL runs SQL in psql, as a person or a program in another language would, and
// returns what it prints: rows without a frame, and the tag of each command.
func PSQL(t testing.TB, dsn, sql string, variables ...string) string {
	t.Helper()
	args := []string{"--no-psqlrc", "--no-align", "--tuples-only", "--set=ON_ERROR_STOP=1", "--dbname=" + dsn}
	for _, v := range variables {
		args = append(args, "--set="+v)
	}
	cmd := exec.CommandContext(t.Context(), client(t, "psql"), args...)
	var out, problems bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(sql), &out, &problems
	if err := cmd.Run(); err != nil {
		t.Fatalf("pgtest: psql: %v: %s", err, problems.String())
	}
	return strings.TrimSpace(out.String())
}
