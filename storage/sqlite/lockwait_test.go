package sqlite

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/belfry-go/belfry/storage/driver"
)

// Trap 8: SQLite's wait for a lock ignores the context. In Go it does not.

func TestTrap8DriverWaitsBeyondTheContext(t *testing.T) {
	t.Parallel()
	if !inC {
		t.Skip("the library in Go looks at the context")
	}
	dsn := filepath.Join(t.TempDir(), "a.db") + "?_journal_mode=WAL&_busy_timeout=1000&_txlock=immediate"
	holder, waiter := raw(t, dsn), raw(t, dsn)
	execSQL(t, holder, "CREATE TABLE t (n)")
	tx, err := holder.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	start := realTime.Now()
	if _, err := waiter.ExecContext(ctx, "INSERT INTO t VALUES (1)"); err == nil {
		t.Error("the lock was not held")
	}
	if waited := realTime.Since(start); waited < 500*time.Millisecond {
		t.Errorf("it waited %v only", waited)
	}
}

// With the driver's own five seconds of patience it would take these.
func TestI30_TheWaitForALockEndsWithTheContext(t *testing.T) {
	t.Parallel()
	s, path := onFile(t, nil)
	other := opened(t, path, nil) // as another process
	held, err := other.DB().BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	start := realTime.Now()
	err = s.InTx(ctx, func(driver.Tx) error { t.Error("it ran beside another transaction"); return nil })
	if waited := realTime.Since(start); waited > time.Second {
		t.Errorf("it waited %v", waited)
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if err := held.Rollback(); err != nil {
		t.Error(err)
	}
	inTx(t, s, func(driver.Tx) error { return nil })
}

// The wait is longer than SQLite's own if the context allows it.
func TestTrap8TheWaitIsRepeated(t *testing.T) {
	t.Parallel()
	s, path := onFile(t, nil)
	other := opened(t, path, nil)
	held, err := other.DB().BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(400*time.Millisecond, func() { _ = held.Rollback() })
	defer timer.Stop()
	inTx(t, s, func(driver.Tx) error { return nil })
	if got := scan[int](t, s.DB(), "PRAGMA busy_timeout"); got > 250 {
		t.Errorf("busy_timeout is %d ms", got)
	}
}

// A host's transaction on the writing handle is in the way too.
func TestI30_TheWaitForTheHostEndsWithTheContext(t *testing.T) {
	t.Parallel()
	s, _ := onFile(t, nil)
	held, err := s.DB().BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Rollback()
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := s.InTx(ctx, func(driver.Tx) error { return nil }); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}
