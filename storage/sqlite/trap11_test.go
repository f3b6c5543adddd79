package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/mattn/go-sqlite3"

	"github.com/belfry-go/belfry/storage/driver"
)

// Trap 11: when fsync fails, COMMIT is an error, but the file may have the
// transaction all the same.

// badDisk names the file that makes the disk bad while it exists.
const badDisk = "BAD_DISK"

func TestTrap11FailedFsyncIsAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("the bad disk is preloaded, as Linux does it")
	}
	s, path := onFile(t, nil)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	disk := filepath.Join(t.TempDir(), "badfsync.so")
	if out, err := exec.CommandContext(t.Context(), "gcc", "-shared", "-fPIC", "-o", disk, "testdata/badfsync.c").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cmd := process(t.Context(), "bad commit", path, "LD_PRELOAD="+disk, badDisk+"="+filepath.Join(t.TempDir(), "now"))
	if out, err := cmd.Output(); err != nil || string(out) != "unknown: I/O error" {
		t.Fatalf("the other process: %q, %v", out, err)
	}
	// The driver called it an error, and here is the row.
	if n := scan[int](t, opened(t, path, nil).DB(), "SELECT count(*) FROM task"); n != 2 {
		t.Errorf("%d rows", n)
	}
}

// commitOnABadDisk inserts a row while fsync fails, and ends without closing the
// store, as after a crash.
func commitOnABadDisk(ctx context.Context, path string) error {
	s, err := Open(ctx, path, nil)
	if err != nil {
		return err
	}
	// A reader stays connected, so that the last connection does not tidy up.
	if _, err := s.Next(ctx, &tasks.Schema, claimOf("", 1), noon); err != nil {
		return err
	}
	rows := dueTasks(2)
	insert := func(row *task, last func() error) error {
		return s.InTx(ctx, func(tx driver.Tx) error {
			_, err := tasks.Insert(ctx, tx, row)
			return errors.Join(err, last())
		})
	}
	if err := insert(rows[0], func() error { return nil }); err != nil { // the log is begun
		return err
	}
	err = insert(rows[1], func() error { return os.WriteFile(os.Getenv(badDisk), nil, 0o600) })
	if e := (sqlite3.Error{}); errors.Is(err, driver.ErrOutcomeUnknown) && errors.As(err, &e) && e.Code == sqlite3.ErrIoErr {
		fmt.Print("unknown: I/O error")
		return nil
	}
	return fmt.Errorf("not an unknown outcome: %w", err)
}
