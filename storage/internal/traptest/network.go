package traptest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/belfry-go/belfry/internal/pgtest"
	"github.com/belfry-go/belfry/storage/driver"
)

// short is the time that the calls of a test have.
const short = 200 * time.Millisecond

var errMind = errors.New("changed my mind")

// calls are made to a store on one connection; each calls hole when the network
// is to go silent.
var calls = map[string]func(ctx context.Context, a Adapter, s Store, hole func()) error{
	"Next": func(ctx context.Context, _ Adapter, s Store, hole func()) error {
		hole()
		_, err := s.Next(ctx, &Tasks.Schema, ClaimOf("", 1), Noon)
		return err
	},
	"Identity": func(ctx context.Context, _ Adapter, s Store, hole func()) error {
		hole()
		_, err := s.Identity(ctx)
		return err
	},
	"BEGIN": func(ctx context.Context, _ Adapter, s Store, hole func()) error {
		hole()
		return s.InTx(ctx, func(tx driver.Tx) error { // some send it with the first statement
			_, err := Tasks.Insert(ctx, tx, DueTasks(1)...)
			return err
		})
	},
	"statement": func(ctx context.Context, _ Adapter, s Store, hole func()) error {
		return s.InTx(ctx, func(tx driver.Tx) error {
			if err := look(ctx, tx); err != nil {
				return err
			}
			hole()
			_, err := Tasks.Insert(ctx, tx, DueTasks(1)...)
			return err
		})
	},
	"statement that is long": func(ctx context.Context, _ Adapter, s Store, hole func()) error {
		return s.InTx(ctx, func(tx driver.Tx) error {
			if err := look(ctx, tx); err != nil {
				return err
			}
			hole()
			_, err := Tasks.Insert(ctx, tx, heavyTasks()...)
			return err
		})
	},
	"ROLLBACK": func(ctx context.Context, _ Adapter, s Store, hole func()) error {
		return s.InTx(ctx, func(tx driver.Tx) error {
			if err := look(ctx, tx); err != nil {
				return err
			}
			hole()
			return errMind
		})
	},
	"COMMIT": func(ctx context.Context, _ Adapter, s Store, hole func()) error {
		return inDoubt(s.InTx(ctx, func(tx driver.Tx) error {
			_, err := Tasks.Insert(ctx, tx, DueTasks(1)...)
			hole()
			return err
		}))
	},
	"new connection": func(ctx context.Context, _ Adapter, s Store, hole func()) error {
		return s.InTx(ctx, func(tx driver.Tx) error { // takes the connection that is there
			if err := look(ctx, tx); err != nil {
				return err
			}
			hole()
			_, err := s.Next(ctx, &Tasks.Schema, ClaimOf("", 1), Noon) // dials another one
			return err
		})
	},
	"BEGIN of a host": func(ctx context.Context, a Adapter, s Store, hole func()) error {
		hole()
		return a.InHostTx(ctx, s, func(context.Context, Host, driver.Tx) error { return nil })
	},
	"statement of a host": func(ctx context.Context, a Adapter, s Store, hole func()) error {
		return a.InHostTx(ctx, s, func(ctx context.Context, host Host, _ driver.Tx) error {
			hole()
			if host.Exec(ctx, "SELECT 1") != nil { // in the words of the driver
				return errMind
			}
			return nil
		})
	},
	"COMMIT of a host": func(ctx context.Context, a Adapter, s Store, hole func()) error {
		return inDoubt(a.InHostTx(ctx, s, func(ctx context.Context, _ Host, bound driver.Tx) error {
			_, err := Tasks.Insert(ctx, bound, DueTasks(1)...)
			hole()
			return err
		}))
	},
}

// look is a statement before the one that a test is about.
func look(ctx context.Context, tx driver.Reader) error {
	_, err := Tasks.Find(ctx, tx, "", driver.Query{Limit: 1})
	return err
}

func inDoubt(err error) error {
	if !errors.Is(err, driver.ErrOutcomeUnknown) {
		return fmt.Errorf("COMMIT came to: %v", err)
	}
	return err
}

// heavyTasks are 16 MB, more than the network buffers.
func heavyTasks() []*Task {
	heavy := DueTasks(1000)
	for _, r := range heavy {
		r.Note = strings.Repeat("x", 16<<10)
	}
	return heavy
}

func callsEnd(t *testing.T, a Adapter) {
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn, proxy := viaProxy(t)
			s := a.opened(t, dsn, Options{Clock: RealTime})
			bounded(t, func(ctx context.Context) error { return call(ctx, a, s, func() { proxy.Blackhole() }) })
			proxy.Resume()
			if n := Count(t, s); n > 1 {
				t.Errorf("%d rows", n)
			}
		})
	}
}

func openEnds(t *testing.T, a Adapter) {
	dsn, proxy := viaProxy(t)
	nobody := pgtest.Via(t, dsn, "127.0.0.1:1")
	if _, err := a.Open(t.Context(), nobody, Options{}); !errors.Is(err, driver.ErrUnavailable) {
		t.Errorf("Open where nobody listens: %v", err)
	}
	proxy.Blackhole()
	bounded(t, func(ctx context.Context) error {
		_, err := a.Open(ctx, dsn, Options{})
		return err
	})
}

// A call was given up, and what the driver does about it behind its back hangs too.
func closeEnds(t *testing.T, a Adapter) {
	dsn, proxy := viaProxy(t)
	s := a.opened(t, dsn, Options{Notify: true})
	Until(t, looking(t, dsn), listening, 1)
	bounded(t, func(ctx context.Context) error { return calls["statement"](ctx, a, s, func() { proxy.Blackhole() }) })
	start := RealTime.Now()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if took := RealTime.Since(start); took > 2*time.Second { // the last hint has a second too
		t.Errorf("took %v", took)
	}
}

// bounded fails the test unless call fails within its context plus one second.
func bounded(t *testing.T, call func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), short)
	defer cancel()
	start := RealTime.Now()
	err := call(ctx)
	if took := RealTime.Since(start); took > short+time.Second {
		t.Errorf("took %v with a context of %v", took, short)
	}
	if !errors.Is(err, errMind) { // it rolled back, as the caller wished
		WantErr(t, err, context.DeadlineExceeded)
	}
}

// Without an end of the context, the bound on reads and writes ends the call.
func ioTimeoutEnds(t *testing.T, a Adapter) {
	dsn, proxy := viaProxy(t)
	s := a.opened(t, dsn, Options{IOTimeout: short})
	err := s.InTx(t.Context(), func(tx driver.Tx) error {
		if err := look(t.Context(), tx); err != nil {
			return err
		}
		proxy.Blackhole()
		_, err := Tasks.Insert(t.Context(), tx, DueTasks(1)...)
		return err
	})
	WantErr(t, err, driver.ErrUnavailable)
	proxy.Resume()
	if n := Count(t, s); n != 0 {
		t.Errorf("%d rows", n)
	}
}

// A statement that the server is still working on is cancelled there, and its
// connection is not used again.
func cancelledEnd(t *testing.T, a Adapter) {
	dsn, _ := viaProxy(t)
	s := a.opened(t, dsn, Options{})
	ctx, cancel := context.WithTimeout(t.Context(), short)
	defer cancel()
	err := s.InTx(ctx, func(driver.Tx) error { return a.Exec(ctx, s, "SELECT pg_sleep(3600)") })
	if err == nil {
		t.Error("slept for an hour")
	}
	Until(t, looking(t, dsn), "SELECT count(*) = 0 FROM pg_stat_activity WHERE datname = current_database() AND query LIKE '%pg_sleep(3600)%' AND pid <> pg_backend_pid()")
}

func lostReplyToStatement(t *testing.T, a Adapter) {
	dsn, proxy := viaProxy(t)
	s := a.opened(t, dsn, Options{MaxOpenConns: 1})
	rows := DueTasks(2)
	if err := Insert(t.Context(), s, rows[0]); err != nil { // it may be prepared now
		t.Fatal(err)
	}
	dropped := proxy.DropReplyOnce(request(rows[1].Key))
	err := s.InTx(t.Context(), func(tx driver.Tx) error {
		// Before the first answer a connection counts as one that broke while it lay idle.
		if err := look(t.Context(), tx); err != nil {
			return err
		}
		_, err := Tasks.Insert(t.Context(), tx, rows[1])
		return err
	})
	<-dropped
	WantErr(t, err, driver.ErrUnavailable)
	if n := Count(t, s); n != 1 {
		t.Errorf("%d rows", n)
	}
}

// Whatever lies idle is broken, as after a restart of the server, and is replaced.
func brokenIdle(t *testing.T, a Adapter) {
	dsn, proxy := viaProxy(t)
	s := a.opened(t, dsn, Options{MaxOpenConns: 5, Clock: RealTime})
	errs := make(chan error)
	var held, let = make(chan struct{}), make(chan struct{})
	for i := range 5 { // five connections
		go func() {
			errs <- s.InTx(t.Context(), func(tx driver.Tx) error {
				row := DueTasks(i + 1)[i]
				if _, err := Tasks.Insert(t.Context(), tx, row); err != nil {
					return err
				}
				held <- struct{}{}
				<-let
				return nil
			})
		}()
	}
	for range 5 {
		<-held
	}
	close(let)
	for range 5 {
		if err := <-errs; err != nil {
			t.Fatal(err)
		}
	}
	proxy.CutAll()
	if err := Insert(t.Context(), s, DueTasks(6)[5]); err != nil {
		t.Error(err)
	}
	proxy.CutAll()
	if err := s.View(t.Context(), func(r driver.Reader) error {
		_, err := Tasks.Find(t.Context(), r, "", driver.Query{Limit: 1})
		return err
	}); err != nil {
		t.Error(err)
	}
	if n := Count(t, s); n != 6 {
		t.Errorf("%d rows", n)
	}
}

func lostReplyToCommit(t *testing.T, a Adapter) {
	dsn, proxy := viaProxy(t)
	s := a.opened(t, dsn, Options{})
	if err := Insert(t.Context(), s, DueTasks(10)...); err != nil {
		t.Fatal(err)
	}
	dropped := proxy.DropReplyOnce(request("COMMIT\x00"))
	runs := 0
	var claimed []*Task
	err := s.InTx(t.Context(), func(tx driver.Tx) (err error) {
		runs++
		claimed, err = Tasks.Claim(t.Context(), tx, ClaimOf("mine", 10))
		return err
	})
	<-dropped
	WantErr(t, err, driver.ErrOutcomeUnknown)
	if runs != 1 {
		t.Errorf("the claim ran %d times although it may have won", runs)
	}
	// Read back by the token, the claim turns out to have won.
	if n := Count(t, s, driver.Eq("claim_token", "mine"), driver.Eq("version", 2)); n != 10 || len(claimed) != 10 {
		t.Errorf("%d of %d claimed rows carry the token", n, len(claimed))
	}
}

func lostRequestToCommit(t *testing.T, a Adapter) {
	dsn, proxy := viaProxy(t)
	s := a.opened(t, dsn, Options{})
	err := s.InTx(t.Context(), func(tx driver.Tx) error {
		_, err := Tasks.Insert(t.Context(), tx, DueTasks(1)...)
		proxy.CutAll()
		return err
	})
	WantErr(t, err, driver.ErrOutcomeUnknown)
	if n := Count(t, s); n != 0 {
		t.Errorf("%d rows were written", n)
	}
}
