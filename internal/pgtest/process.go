package pgtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is a running child, which does not outlive this process.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
}

// launch starts cmd as the given account. The death signal is what ends it if
// this process ends first.
func launch(cmd *exec.Cmd, as *account, death syscall.Signal) (*process, error) {
	tie(cmd, as, death)
	p := &process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error)
	go func() {
		// The death signal belongs to the thread, not to the process: this one
		// must live as long as the child.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(p.done)
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // how it ended is in its log
		}
	}()
	return p, <-started
}

// end sends a signal and waits for the end.
func (p *process) end(signal syscall.Signal) {
	_ = p.cmd.Process.Signal(signal) // fails only where it has ended already
	<-p.done
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

const (
	startTimeout = 5 * time.Minute // against hanging: crash recovery on a busy machine included
	pollEvery    = 20 * time.Millisecond
)

// Why a server did not start, where a caller may try again.
var (
	errEnded     = errors.New("it ended")
	errPortTaken = errors.New("its port is taken")
	errInUse     = errors.New("sessions of its last run are still ending")
)

// service is a running server program and the file that takes its output.
type service struct {
	*process
	log  *os.File
	from int64 // where this run's output begins
}

// startService starts cmd and returns when its output says up. That is its own word: a
// connection could reach another server on the same port. An error has what the program
// wrote in it.
func startService(ctx context.Context, cmd *exec.Cmd, as *account, death syscall.Signal, logName, up string) (*service, error) {
	log, err := os.OpenFile(logName, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("pgtest: %w", err)
	}
	s := &service{log: log}
	if s.from, err = log.Seek(0, io.SeekEnd); err == nil {
		cmd.Stdout, cmd.Stderr = log, log
		s.process, err = launch(cmd, as, death)
	}
	if err != nil {
		return nil, errors.Join(s.explain(cmd, err), log.Close())
	}
	if err := s.await(ctx, up); err != nil {
		s.process.end(syscall.SIGKILL)
		return nil, errors.Join(s.explain(cmd, err), log.Close())
	}
	return s, nil
}

// end sends a signal and waits for the end.
func (s *service) end(signal syscall.Signal) error {
	s.process.end(signal)
	return s.log.Close()
}

// await waits until the output says up.
func (s *service) await(ctx context.Context, up string) error {
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for {
		output, err := s.output(math.MaxInt64 - s.from) // clients may fill it before
		if err != nil || strings.Contains(output, up) {
			return err
		}
		select {
		case <-ticker.C:
		case <-s.done:
			return errEnded
		case <-ctx.Done():
			return fmt.Errorf("it did not say %q: %w", up, ctx.Err())
		}
	}
}

// output is what this run has written so far, the first n bytes of it.
func (s *service) output(n int64) (string, error) {
	text, err := io.ReadAll(io.NewSectionReader(s.log, s.from, n))
	return string(text), err
}

// explain says why cmd did not start.
func (s *service) explain(cmd *exec.Cmd, err error) error {
	output, readErr := s.output(64 << 10)
	switch {
	case readErr != nil:
		err = errors.Join(err, readErr)
	case strings.Contains(output, "is still in use"):
		err = errInUse
	case strings.Contains(output, "Address already in use"):
		err = errPortTaken
	}
	return fmt.Errorf("pgtest: start %s: %w; its output:\n%s", cmd.Path, err, output)
}

// The ports servers get lie below the ranges from which systems take those of
// outgoing connections. Otherwise a client that redials a stopped server could
// be given that very port, connect to itself, and keep the server from coming
// back.
const (
	firstPort = 15000
	lastPort  = 32000
)

// onFreePort calls start with a free port, and again with another one where another
// process was faster.
func onFreePort(start func(port int) error) error {
	var err error
	for range 5 {
		var port int
		if port, err = freePort(); err != nil {
			return err
		}
		if err = start(port); !errors.Is(err, errPortTaken) {
			return err
		}
	}
	return err
}

// freePort returns a port of 127.0.0.1 that was free a moment ago.
func freePort() (int, error) {
	var last error
	for range 100 {
		port := firstPort + rand.IntN(lastPort-firstPort)
		listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			last = err
			continue
		}
		return port, listener.Close()
	}
	return 0, fmt.Errorf("pgtest: no free port between %d and %d: %w", firstPort, lastPort, last)
}

const (
	dirPattern = "belfry-pgtest-*"
	lockName   = "lock" // held by the process that uses the directory
	dataName   = "data"
	logName    = "log" // a server's output
)

// workdir is a temporary directory of one server, which that server's account
// owns.
type workdir struct {
	path string
	held *os.File
}

func newWorkdir(as *account) (*workdir, error) {
	parent, err := tempParent(as)
	if err != nil {
		return nil, err
	}
	sweep(parent)
	path, err := os.MkdirTemp(parent, dirPattern)
	if err != nil {
		return nil, fmt.Errorf("pgtest: %w", err)
	}
	w := &workdir{path: path}
	if err := w.take(as); err != nil {
		return nil, fmt.Errorf("pgtest: prepare %s: %w", path, errors.Join(err, w.remove()))
	}
	return w, nil
}

// take locks the directory and hands it to the account. The lock file gets its
// name only once it is locked, or a sweep could see it free.
func (w *workdir) take(as *account) error {
	f, err := os.CreateTemp(w.path, "lock-*")
	if err != nil {
		return err
	}
	w.held = f
	if err := lock(f); err == nil {
		if err := os.Rename(f.Name(), filepath.Join(w.path, lockName)); err != nil {
			return err
		}
	}
	if as == nil {
		return nil
	}
	return os.Chown(w.path, int(as.uid), int(as.gid))
}

func (w *workdir) file(name string) string { return filepath.Join(w.path, name) }

func (w *workdir) remove() error {
	err := removeDir(w.path)
	if w.held != nil {
		err = errors.Join(err, w.held.Close())
	}
	return err
}

// removeDir removes the lock file last, so that what fails half-way is tried
// again by the next sweep.
func removeDir(path string) error {
	if err := os.RemoveAll(filepath.Join(path, dataName)); err != nil {
		return err
	}
	return os.RemoveAll(path)
}

// sweep removes what killed processes left behind in parent. Failures are not
// this test's: another user's files, or a server that is still going down.
func sweep(parent string) {
	locks, _ := filepath.Glob(filepath.Join(parent, dirPattern, lockName)) // the pattern is well-formed
	for _, name := range locks {
		f, err := os.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			continue
		}
		if lock(f) == nil {
			_ = removeDir(filepath.Dir(name))
		}
		_ = f.Close()
	}
}

// tempParent is the first place for temporary files that the account may enter.
func tempParent(as *account) (string, error) {
	if as == nil {
		return os.TempDir(), nil
	}
	for _, dir := range []string{os.TempDir(), "/tmp", "/var/tmp"} {
		if openToAll(dir) {
			return dir, nil
		}
	}
	return "", fmt.Errorf("pgtest: PostgreSQL does not run as root, and another user cannot enter %s; "+
		"set TMPDIR to a directory that all users may enter", os.TempDir())
}

// openToAll tells whether every user may enter dir, an absolute path.
func openToAll(dir string) bool {
	for {
		info, err := os.Stat(dir)
		if err != nil || info.Mode()&0o001 == 0 {
			return false
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return true
		}
		dir = parent
	}
}

// account is whom server programs run as; nil is the user of this process.
type account struct{ uid, gid uint32 }

// serverAccount is nil except for root, as whom neither PostgreSQL nor
// PgBouncer runs.
func serverAccount() (*account, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uidErr := strconv.ParseUint(u.Uid, 10, 32)
		gid, gidErr := strconv.ParseUint(u.Gid, 10, 32)
		if err := errors.Join(uidErr, gidErr); err != nil {
			return nil, fmt.Errorf("pgtest: user %s: %w", name, err)
		}
		return &account{uid: uint32(uid), gid: uint32(gid)}, nil
	}
	return nil, errors.New("pgtest: PostgreSQL does not run as root, " +
		"and neither the user postgres nor the user nobody exists to run it as")
}
