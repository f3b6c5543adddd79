package sqlite

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belfry-go/belfry/storage/driver"
)

// pauses is a store's randomness that tells of each read: a transaction that has met
// another's lock reads the length of its next pause.
type pauses chan struct{}

func (p pauses) Read(b []byte) (int, error) {
	p <- struct{}{}
	return rand.Read(b)
}

// Trap 8: SQLite's wait for a lock ignores the context. In Go it does not.

// A transaction that waits for another process's ends with its context.
func TestI30_TheWaitForALockEndsWithTheContext(t *testing.T) {
	t.Parallel()
	tried := make(pauses)
	s, path := onFile(t, &Options{Rand: tried})
	other := opened(t, path, nil) // as another process
	held, err := other.DB().BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		<-tried
		cancel()
	}()
	err = s.InTx(ctx, func(driver.Tx) error { t.Error("it ran beside another transaction"); return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if err := held.Rollback(); err != nil {
		t.Error(err)
	}
	inTx(t, s, func(driver.Tx) error { return nil })
}

// A call without a deadline does not wait for another process for ever.
func TestTheWaitForALockHasABound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, path := onFile(t, &Options{BusyTimeout: 100 * time.Millisecond})
		held, err := opened(t, path, nil).DB().BeginTx(t.Context(), nil) // as another process
		if err != nil {
			t.Fatal(err)
		}
		defer held.Rollback()
		err = s.InTx(t.Context(), func(driver.Tx) error { t.Error("it ran beside another transaction"); return nil })
		if !errors.Is(err, driver.ErrBusy) || !strings.Contains(err.Error(), "Options.BusyTimeout") {
			t.Errorf("got %v", err)
		}
		if err := s.Compact(t.Context()); !errors.Is(err, driver.ErrBusy) {
			t.Errorf("Compact: %v", err)
		}
	})
	for given, want := range map[time.Duration]time.Duration{0: 30 * time.Second, -1: 0, time.Minute: time.Minute} {
		if got := (Options{BusyTimeout: given}).busyTimeout(); got != want {
			t.Errorf("BusyTimeout %v waits for %v, want %v", given, got, want)
		}
	}
}

// The wait is longer than SQLite's own, which no context ends, if the context allows it.
func TestTrap8TheWaitIsRepeated(t *testing.T) {
	t.Parallel()
	tried := make(pauses)
	s, path := onFile(t, &Options{Rand: tried})
	other := opened(t, path, nil)
	held, err := other.DB().BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for range 3 {
			<-tried
		}
		if err := held.Rollback(); err != nil {
			t.Error(err)
		}
		for {
			select {
			case <-tried: // it came before the lock was free
			case <-t.Context().Done():
				return
			}
		}
	}()
	inTx(t, s, func(driver.Tx) error { return nil })
	if got := scan[int](t, s.DB(), "PRAGMA busy_timeout"); got > 250 {
		t.Errorf("busy_timeout is %d ms", got)
	}
}

// A call with a context from outside of InHostTx cannot be told from one beside it. It waits
// for its own goroutine, and ends with its context.
func TestACallInsideInHostTxWithAnotherContextEndsWithIt(t *testing.T) {
	t.Parallel()
	s, _ := onFile(t, nil)
	outer, cancel := context.WithCancel(t.Context())
	err := s.InHostTx(t.Context(), func(context.Context, *sql.Tx, driver.Tx) error {
		go cancel()
		return s.InTx(outer, func(driver.Tx) error { t.Error("it ran beside the transaction"); return nil })
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	inTx(t, s, func(driver.Tx) error { return nil })
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
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	before := s.DB().Stats().WaitCount
	go func() {
		for s.DB().Stats().WaitCount == before {
			runtime.Gosched()
		}
		cancel()
	}()
	if err := s.InTx(ctx, func(driver.Tx) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
