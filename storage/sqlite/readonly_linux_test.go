package sqlite

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/belfry-go/belfry/storage"
)

// asNobody runs f on a thread whose files are nobody's, since root may write them
// all.
func asNobody(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		if os.Geteuid() == 0 {
			_, _, _ = syscall.RawSyscall(syscall.SYS_SETFSUID, 65534, 0, 0)
		}
		f()
	}()
	<-done
}

// openFolder is one that everybody may look into.
func openFolder(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	if err := os.Chmod(filepath.Dir(folder), 0o755); err != nil {
		t.Fatal(err)
	}
	return folder
}

// A file that cannot be written says so when it is opened, and not when the first
// reminder is due.
func TestAFileThatCannotBeWrittenIsNotOpened(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"closed", "in use"} {
		path := filepath.Join(openFolder(t), "belfry.db")
		s := opened(t, path, nil)
		if name == "closed" {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
		for _, file := range []string{path, path + "-wal", path + "-shm"} {
			if err := os.Chmod(file, 0o444); err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
		}
		asNobody(func() {
			s, err := Open(context.Background(), path, nil) // a context that ends has goroutines
			if err == nil {
				_ = s.Close()
			}
			if !errors.Is(err, storage.ErrUnavailable) || !strings.Contains(err.Error(), "readonly") {
				t.Errorf("a file that is read-only, %s: %v", name, err)
			}
		})
	}
}

func TestAFolderThatCannotBeWrittenIsSaid(t *testing.T) {
	t.Parallel()
	folder := openFolder(t)
	if err := os.Chmod(folder, 0o555); err != nil {
		t.Fatal(err)
	}
	asNobody(func() {
		s, err := Open(context.Background(), filepath.Join(folder, "belfry.db"), nil)
		if err == nil {
			_ = s.Close()
		}
		if !errors.Is(err, storage.ErrUnavailable) || !strings.Contains(err.Error(), "can it be written") {
			t.Errorf("a folder that is read-only: %v", err)
		}
	})
}
