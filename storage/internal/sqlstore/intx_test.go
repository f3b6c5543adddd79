package sqlstore

import (
	"context"
	sqldriver "database/sql/driver"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"golang.org/x/sync/semaphore"

	"github.com/belfry-go/belfry/storage/driver"
)

func TestInTxRunsAgainAfterASerializationFailure(t *testing.T) {
	t.Parallel()
	for _, where := range []string{"SELECT", "COMMIT"} {
		f, runs := &fake{answer: first(where, errSerial)}, 0
		if err := look(t.Context(), f.store(t, nil), &runs); err != nil {
			t.Errorf("%s: %v", where, err)
		}
		log := map[string]string{
			"SELECT": "BEGIN SELECT ROLLBACK BEGIN SELECT COMMIT",
			"COMMIT": "BEGIN SELECT COMMIT ROLLBACK BEGIN SELECT COMMIT",
		}[where]
		if diff := cmp.Diff(log, f.log()); diff != "" || runs != 2 {
			t.Errorf("%d runs, statements (-want +got):\n%s", runs, diff)
		}
	}
}

// A holder whose lock is not given in time has to come back with fewer rows,
// which only the caller can arrange.
func TestInTxGivesUpAfterThreeLockTimeOuts(t *testing.T) {
	t.Parallel()
	f, runs := &fake{answer: func(_ context.Context, text string) error {
		if strings.HasPrefix(text, "SELECT") {
			return errLock
		}
		return nil
	}}, 0
	err := look(t.Context(), f.store(t, nil), &runs)
	if !errors.Is(err, driver.ErrBusy) || runs != 3 {
		t.Errorf("after %d runs: %v, want ErrBusy after 3", runs, err)
	}
}

// Whatever else made it run again before.
func TestInTxCountsLockTimeOutsAlone(t *testing.T) {
	t.Parallel()
	selects := 0
	f, runs := &fake{answer: func(_ context.Context, text string) error {
		if !strings.HasPrefix(text, "SELECT") {
			return nil
		}
		if selects++; selects <= 3 {
			return errSerial
		}
		return errLock
	}}, 0
	err := look(t.Context(), f.store(t, nil), &runs)
	if !errors.Is(err, driver.ErrBusy) || runs != 6 {
		t.Errorf("after %d runs: %v, want ErrBusy after 6", runs, err)
	}
}

func TestInTxWaitsForABusyDatabaseUntilItsContextEnds(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	f, runs, begins := &fake{}, 0, 0
	f.answer = func(_ context.Context, text string) error {
		if !strings.HasPrefix(text, "BEGIN") {
			return nil
		}
		if begins++; begins == 20 {
			cancel()
		}
		return errBusy
	}
	err := look(ctx, f.store(t, nil), &runs)
	if !errors.Is(err, context.Canceled) || !errors.Is(err, errBusy) || runs != 0 || begins != 20 {
		t.Errorf("%d begins, %d runs: %v", begins, runs, err)
	}
}

func TestInTxDoesNotRunAgainForErrorsFromElsewhere(t *testing.T) {
	t.Parallel()
	f, runs := &fake{}, 0
	err := f.store(t, nil).InTx(t.Context(), func(driver.Tx) error {
		runs++
		return errSerial // of another database, say
	})
	if !errors.Is(err, errSerial) || runs != 1 || f.log() != "BEGIN ROLLBACK" {
		t.Errorf("%d runs, %s: %v", runs, f.log(), err)
	}
}

// PostgreSQL answers COMMIT of a failed transaction with a ROLLBACK that is no
// error to the sqldriver.
func TestInTxNeverCommitsAfterAVerbFailed(t *testing.T) {
	t.Parallel()
	f := &fake{answer: first("SELECT", errOdd)}
	err := f.store(t, nil).InTx(t.Context(), func(tx driver.Tx) error {
		_, _ = jobs.Count(t.Context(), tx, "", 1) // its error is forgotten
		if _, err := jobs.Count(t.Context(), tx, "", 1); !errors.Is(err, errOdd) {
			t.Errorf("the second verb: %v", err)
		}
		return nil
	})
	if !errors.Is(err, errOdd) || f.log() != "BEGIN SELECT ROLLBACK" {
		t.Errorf("%s: %v", f.log(), err)
	}
}

func TestInTxRollsBackAfterAPanic(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(){"panic": func() { panic("oh") }, "Goexit": runtime.Goexit} {
		f := &fake{}
		s := f.store(t, nil)
		var g sync.WaitGroup
		g.Go(func() {
			defer func() { _ = recover() }()
			_ = s.InTx(t.Context(), func(driver.Tx) error { end(); return nil })
		})
		g.Wait()
		if f.log() != "BEGIN ROLLBACK" {
			t.Errorf("%s: %s", name, f.log())
		}
		if n := s.cfg.Writer.(*Database).Stats().InUse; n != 0 {
			t.Errorf("%s: %d connections are in use", name, n)
		}
	}
}

func TestInTxDoesNotCommitWhenItsContextHasEnded(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	f := &fake{}
	err := f.store(t, nil).InTx(ctx, func(driver.Tx) error { cancel(); return nil })
	if !errors.Is(err, context.Canceled) || f.log() != "BEGIN ROLLBACK" {
		t.Errorf("%s: %v", f.log(), err)
	}
}

// Rows that were read before the transaction are the same in its second run: a
// version that the first run raised would make them stale, or swap them with
// what somebody else wrote in between.
func TestI5_ASecondRunSavesTheVersionThatWasRead(t *testing.T) {
	t.Parallel()
	f := &fake{answer: first("COMMIT", errSerial), rows: func(text string) [][]sqldriver.Value {
		if strings.HasPrefix(text, "UPDATE") {
			return [][]sqldriver.Value{{int64(1)}}
		}
		return nil
	}}
	row := &job{Due: driver.Due{Record: driver.Record{ID: 7, Key: "a", Version: 3}}}
	var read []int64
	err := f.store(t, nil).InTx(t.Context(), func(tx driver.Tx) error {
		read = append(read, row.Version)
		return jobs.Save(t.Context(), tx, row)
	})
	if diff := cmp.Diff([]int64{3, 3}, read); err != nil || diff != "" || row.Version != 4 {
		t.Errorf("version %d, %v, runs saw (-want +got):\n%s", row.Version, err, diff)
	}
}

func TestBrokenIdleConnectionsAreReplaced(t *testing.T) {
	t.Parallel()
	f, runs := &fake{}, 0
	s := f.store(t, nil)
	if err := look(t.Context(), s, &runs); err != nil {
		t.Fatal(err)
	}
	f.answer = first("BEGIN", errGone) // the server was restarted meanwhile
	if err := look(t.Context(), s, &runs); err != nil || runs != 2 {
		t.Errorf("%d runs: %v", runs, err)
	}
}

// Behind a pooler a connection goes on to a server that became a replica, which refuses
// BEGIN with the code of a cached plan that does not fit any more.
func TestConnectionsToAReplicaAreReplaced(t *testing.T) {
	t.Parallel()
	f, runs := &fake{}, 0
	s := f.store(t, nil)
	if err := look(t.Context(), s, &runs); err != nil {
		t.Fatal(err)
	}
	f.answer = first("SELECT", errCannot)
	if err := look(t.Context(), s, &runs); !errors.Is(err, errCannot) || errors.Is(err, driver.ErrUnavailable) || f.closes() != 0 {
		t.Errorf("a cached plan closed %d connections: %v", f.closes(), err)
	}
	f.answer = first("BEGIN", errCannot)
	if err := look(t.Context(), s, &runs); err != nil || runs != 3 || f.closes() != 1 {
		t.Errorf("%d runs, %d connections closed: %v", runs, f.closes(), err)
	}
	f.answer = func(_ context.Context, text string) error {
		if strings.HasPrefix(text, "BEGIN") {
			return errCannot
		}
		return nil
	}
	if err := look(t.Context(), s, &runs); !errors.Is(err, driver.ErrUnavailable) || runs != 3 {
		t.Errorf("with nothing but replicas: %d runs, %v", runs, err)
	}
}

func TestLostConnectionIsUnavailable(t *testing.T) {
	t.Parallel()
	f, runs := &fake{answer: first("SELECT", errGone)}, 0
	err := look(t.Context(), f.store(t, nil), &runs)
	if !errors.Is(err, driver.ErrUnavailable) || runs != 1 {
		t.Errorf("%d runs: %v", runs, err)
	}
}

func TestWakingWaitsForTheCommit(t *testing.T) {
	t.Parallel()
	f := &fake{rows: func(text string) [][]sqldriver.Value {
		if strings.HasPrefix(text, "INSERT") {
			return [][]sqldriver.Value{{int64(1), "", "a"}}
		}
		return nil
	}}
	s := f.store(t, nil)
	signal := s.Waker().Listen("job")
	defer signal.Close()
	insert := func(tx driver.Tx) error {
		_, err := jobs.Insert(t.Context(), tx, &job{Due: driver.Due{Record: driver.Record{Key: "a"}, DueOn: driver.Now(s)}})
		if len(signal.C()) != 0 {
			t.Error("a hint came before the commit")
		}
		return err
	}
	_ = s.InTx(t.Context(), func(tx driver.Tx) error { return errors.Join(insert(tx), errOdd) })
	if len(signal.C()) != 0 {
		t.Error("a hint came after a roll-back")
	}
	if err := s.InTx(t.Context(), insert); err != nil || len(signal.C()) != 1 {
		t.Errorf("%d hints after the commit: %v", len(signal.C()), err)
	}
}

// What a view shows the database keeps, so it does not last.
func TestAViewIsOverInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		s := f.store(t, func(c *Config) { c.ViewTime = time.Minute })
		err := s.View(t.Context(), func(from driver.Reader) error {
			if _, err := jobs.Count(t.Context(), from, "", 1); err != nil {
				return err
			}
			<-time.NewTimer(2 * time.Minute).C
			_, err := jobs.Count(t.Context(), from, "", 1)
			return err
		})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if log := f.log(); log != "BEGIN SELECT ROLLBACK" {
			t.Errorf("said %s", log)
		}
	})
}

// Whatever keeps a connection from being made may pass: what was to be written can be
// written later.
func TestAFailedConnectIsPassing(t *testing.T) {
	t.Parallel()
	f, runs := &fake{refuses: errOdd}, 0
	if err := look(t.Context(), f.store(t, nil), &runs); !errors.Is(err, driver.ErrUnavailable) || !errors.Is(err, errOdd) {
		t.Errorf("got %v", err)
	}
	ctx, end := context.WithCancel(t.Context())
	end()
	if err := look(ctx, f.store(t, nil), &runs); !errors.Is(err, context.Canceled) || errors.Is(err, driver.ErrUnavailable) {
		t.Errorf("an ended context: %v", err)
	}
}

// A handle that the host has closed does not come back, other than a database that is away.
func TestAClosedHandleIsSaid(t *testing.T) {
	t.Parallel()
	s := (&fake{}).store(t, nil)
	if err := s.cfg.Writer.(*Database).Close(); err != nil {
		t.Fatal(err)
	}
	said := map[string]error{
		"InTx":     look(t.Context(), s, new(int)),
		"View":     s.View(t.Context(), func(driver.Reader) error { return nil }),
		"InHostTx": write(t.Context(), s, new(int)),
	}
	_, said["Next"] = s.Next(t.Context(), &jobs.Schema, driver.Claim{Lanes: []driver.LaneClaim{{}}}, time.Time{})
	for name, err := range said {
		if !errors.Is(err, driver.ErrClosed) || !errors.Is(err, driver.ErrUnavailable) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A database that somebody keeps locked, and a connection that somebody keeps, are not
// waited for without end by a call that has none.
func TestWhoHasNoDeadlineWaitsForALockAsLongAsTheStoreSays(t *testing.T) {
	t.Parallel()
	bounded := func(c *Config) {
		c.BusyTimeout, c.Wait = 30*time.Second, nil
		c.Writer.(*Database).SetMaxOpenConns(1)
		c.Writer.(*Database).turns = semaphore.NewWeighted(1)
	}
	calls := map[string]func(ctx context.Context, s *Store) error{
		"InTx":     func(ctx context.Context, s *Store) error { return look(ctx, s, new(int)) },
		"InHostTx": func(ctx context.Context, s *Store) error { return write(ctx, s, new(int)) },
		"View": func(ctx context.Context, s *Store) error {
			return s.View(ctx, func(driver.Reader) error { return nil })
		},
		"Probe": func(ctx context.Context, s *Store) error { return s.Probe(ctx, "SELECT") },
	}
	for name, call := range calls {
		synctest.Test(t, func(t *testing.T) {
			locked := &fake{answer: func(_ context.Context, text string) error {
				if strings.HasPrefix(text, "BEGIN") {
					return errBusy
				}
				return nil
			}}
			wantBusy(t, name+", the database is locked", func() error { return call(t.Context(), locked.store(t, bounded)) })
			held := (&fake{}).store(t, bounded)
			err := held.InTx(t.Context(), func(driver.Tx) error {
				wantBusy(t, name+", the connection is held", func() error { return call(t.Context(), held) })
				return nil
			})
			if err != nil {
				t.Errorf("%s: the one that held it: %v", name, err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if err := call(ctx, locked.store(t, bounded)); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s, with a deadline of its own: %v", name, err)
			}
		})
	}
}

// wantBusy wants a call to end with an ErrBusy when its store has waited.
func wantBusy(t *testing.T, name string, call func() error) {
	t.Helper()
	begun := time.Now()
	err := call()
	if waited := time.Since(begun); waited < 30*time.Second || waited > 31*time.Second {
		t.Errorf("%s: %v after %v", name, err, waited)
	}
	switch {
	case !errors.Is(err, driver.ErrBusy), !errors.Is(err, driver.ErrUnavailable), !strings.Contains(err.Error(), "30s"):
		t.Errorf("%s: %v", name, err)
	case errors.Is(err, context.DeadlineExceeded): // which would be the caller's
		t.Errorf("%s: %v", name, err)
	}
}
