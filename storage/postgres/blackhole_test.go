package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/belfry-go/belfry/storage/driver"
)

// Trap 2: a context does not bound a call in a network black hole.

// patience is how long a call of a test may take before it is given up for dead.
const patience = 3 * time.Second

// short is the time that the calls of a test have.
const short = 200 * time.Millisecond

func TestTrap2DriverHangsInABlackHole(t *testing.T) {
	t.Parallel()
	dsn, proxy := viaProxy(t, emptyDSN(t))
	db := rawPool(t, dsn)
	exec(t, db, "SELECT 1")
	proxy.Blackhole()
	ctx, cancel := context.WithTimeout(t.Context(), short)
	defer cancel()
	returned := make(chan error, 1)
	go func() {
		_, err := db.ExecContext(ctx, "SELECT 1")
		returned <- err
	}()
	dead, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	select {
	case err := <-returned:
		t.Errorf("the driver returned (%v); the trap is gone", err)
	case <-dead.Done():
	}
	proxy.Resume()
	t.Log(<-returned)
}

var errMind = errors.New("changed my mind")

// calls are made to a store on one connection; each calls hole when the network
// is to go silent.
var calls = map[string]func(ctx context.Context, s *Store, hole func()) error{
	"Next": func(ctx context.Context, s *Store, hole func()) error {
		hole()
		_, err := s.Next(ctx, &tasks.Schema, claimOf("", 1), noon)
		return err
	},
	"Identity": func(ctx context.Context, s *Store, hole func()) error {
		hole()
		_, err := s.Identity(ctx)
		return err
	},
	"BEGIN": func(ctx context.Context, s *Store, hole func()) error {
		hole()
		return s.InTx(ctx, func(driver.Tx) error { return nil })
	},
	"statement": func(ctx context.Context, s *Store, hole func()) error {
		return s.InTx(ctx, func(tx driver.Tx) error {
			hole()
			_, err := tasks.Insert(ctx, tx, dueTasks(1)...)
			return err
		})
	},
	"statement that is long": func(ctx context.Context, s *Store, hole func()) error {
		return s.InTx(ctx, func(tx driver.Tx) error {
			hole()
			_, err := tasks.Insert(ctx, tx, heavyTasks()...)
			return err
		})
	},
	"ROLLBACK": func(ctx context.Context, s *Store, hole func()) error {
		return s.InTx(ctx, func(driver.Tx) error {
			hole()
			return errMind
		})
	},
	"COMMIT": func(ctx context.Context, s *Store, hole func()) error {
		err := s.InTx(ctx, func(tx driver.Tx) error {
			_, err := tasks.Insert(ctx, tx, dueTasks(1)...)
			hole()
			return err
		})
		if !errors.Is(err, driver.ErrOutcomeUnknown) {
			return fmt.Errorf("COMMIT came to: %v", err)
		}
		return err
	},
	"new connection": func(ctx context.Context, s *Store, hole func()) error {
		return s.InTx(ctx, func(driver.Tx) error { // takes the connection that is there
			hole()
			_, err := s.Next(ctx, &tasks.Schema, claimOf("", 1), noon) // dials another one
			return err
		})
	},
}

// heavyTasks are 16 MB, more than the network buffers.
func heavyTasks() []*task {
	heavy := dueTasks(1000)
	for _, r := range heavy {
		r.Note = strings.Repeat("x", 16<<10)
	}
	return heavy
}

func TestI30_CallsEndInABlackHole(t *testing.T) {
	t.Parallel()
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn, proxy := viaProxy(t, emptyDSN(t))
			s := opened(t, dsn, &Options{Clock: realTime})
			bounded(t, func(ctx context.Context) error { return call(ctx, s, proxy.Blackhole) })
			proxy.Resume()
			if n := count(t, s); n > 1 {
				t.Errorf("%d rows", n)
			}
		})
	}
}

func TestI30_OpenEndsInABlackHole(t *testing.T) {
	t.Parallel()
	dsn, proxy := viaProxy(t, emptyDSN(t))
	proxy.Blackhole()
	bounded(t, func(ctx context.Context) error {
		_, err := Open(ctx, dsn, nil)
		return err
	})
}

// bounded fails the test unless call fails within its context plus one second.
func bounded(t *testing.T, call func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), short)
	defer cancel()
	start := realTime.Now()
	err := call(ctx)
	if took := realTime.Since(start); took > short+time.Second {
		t.Errorf("took %v with a context of %v", took, short)
	}
	if !errors.Is(err, errMind) { // it rolled back, as the caller wished
		wantErr(t, err, context.DeadlineExceeded)
	}
}

// Without an end of the context, the bound on reads and writes ends the call.
func TestTrap2IOTimeoutEndsACallWithoutADeadline(t *testing.T) {
	t.Parallel()
	dsn, proxy := viaProxy(t, emptyDSN(t))
	s := opened(t, dsn, &Options{IOTimeout: short})
	err := s.InTx(t.Context(), func(tx driver.Tx) error {
		proxy.Blackhole()
		_, err := tasks.Insert(t.Context(), tx, dueTasks(1)...)
		return err
	})
	wantErr(t, err, driver.ErrUnavailable)
	proxy.Resume()
	if n := count(t, s); n != 0 {
		t.Errorf("%d rows", n)
	}
}

// A statement that the server is still working on is cancelled there, and its
// connection is not used again.
func TestTrap2CancelledStatementsEndOnTheServer(t *testing.T) {
	t.Parallel()
	s := opened(t, emptyDSN(t), nil)
	ctx, cancel := context.WithTimeout(t.Context(), short)
	defer cancel()
	err := s.InTx(ctx, func(driver.Tx) error {
		_, err := s.DB().ExecContext(ctx, "SELECT pg_sleep(3600)")
		return err
	})
	if err == nil {
		t.Error("slept for an hour")
	}
	until(t, s.DB(), "SELECT count(*) = 0 FROM pg_stat_activity WHERE query LIKE '%pg_sleep(3600)%' AND pid <> pg_backend_pid()")
}
