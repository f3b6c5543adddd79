package pgtest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

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
		"set TMPDIR to a directory that everybody may enter", os.TempDir())
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
