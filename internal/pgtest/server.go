package pgtest

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
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

// Launch is New for a program that is no test, such as a benchmark. The caller
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

// CreateDatabase is Database for a program that is no test.
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
	cmd := exec.Command(filepath.Join(s.bin, "initdb"), "--pgdata", s.dir.file(dataName),
		"--username=postgres", "--auth=trust", "--encoding=UTF8", "--no-sync",
		"--locale=C", "--locale-provider=icu", "--icu-locale=en-US")
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
