package sqlstore

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/storage/driver"
)

// write is a host's transaction with a statement of its own beside one of ours.
func write(ctx context.Context, s *Store, runs *int) error {
	return s.InHostTx(ctx, func(ctx context.Context, host *sql.Tx, bound driver.Tx) error {
		*runs++
		if _, err := host.ExecContext(ctx, "INSERT INTO booking"); err != nil {
			return err
		}
		_, err := jobs.Count(ctx, bound, "", 1)
		return err
	})
}

// database/sql says "driver: bad connection" of a statement of the host's, which is no
// value that a host looks for.
func TestAConnectionThatAHostLosesIsUnavailable(t *testing.T) {
	t.Parallel()
	f := &fake{answer: first("UPDATE", sqldriver.ErrBadConn)}
	err := f.store(t, nil).InHostTx(t.Context(), func(ctx context.Context, host *sql.Tx, _ driver.Tx) error {
		_, err := host.ExecContext(ctx, "UPDATE theirs")
		return err
	})
	if !errors.Is(err, driver.ErrUnavailable) || !errors.Is(err, sqldriver.ErrBadConn) {
		t.Errorf("got %v", err)
	}
}

// Whoever failed, and wherever: the whole is done again, and nobody has to know how.
func TestInHostTxRunsAgainAsInTxDoes(t *testing.T) {
	t.Parallel()
	for where, log := range map[string]string{
		"BEGIN":  "BEGIN ROLLBACK BEGIN INSERT SELECT COMMIT",
		"INSERT": "BEGIN INSERT ROLLBACK BEGIN INSERT SELECT COMMIT",
		"SELECT": "BEGIN INSERT SELECT ROLLBACK BEGIN INSERT SELECT COMMIT",
		"COMMIT": "BEGIN INSERT SELECT COMMIT ROLLBACK BEGIN INSERT SELECT COMMIT",
	} {
		for _, err := range []error{errSerial, errBusy, errLock} {
			f, runs := &fake{answer: first(where, err)}, 0
			if err := write(t.Context(), f.store(t, nil), &runs); err != nil {
				t.Errorf("%v at %s: %v", err, where, err)
			}
			if diff := cmp.Diff(log, f.log()); diff != "" {
				t.Errorf("%v at %s: statements (-want +got):\n%s", err, where, diff)
			}
		}
	}
}

func TestInHostTxEndsWithItsFunction(t *testing.T) {
	t.Parallel()
	f, runs := &fake{answer: first("INSERT", errOdd)}, 0
	if err := write(t.Context(), f.store(t, nil), &runs); !errors.Is(err, errOdd) || f.log() != "BEGIN INSERT ROLLBACK" || runs != 1 {
		t.Errorf("%d runs: %s: %v", runs, f.log(), err)
	}
	f, runs = &fake{answer: first("COMMIT", errGone)}, 0
	if err := write(t.Context(), f.store(t, nil), &runs); !errors.Is(err, driver.ErrOutcomeUnknown) || runs != 1 {
		t.Errorf("a lost reply, %d runs: %v", runs, err)
	}
	f = &fake{}
	s := f.store(t, nil)
	var kept driver.Tx
	func() {
		defer func() { _ = recover() }()
		_ = s.InHostTx(t.Context(), func(_ context.Context, _ *sql.Tx, bound driver.Tx) error {
			kept = bound
			panic("the host's code")
		})
	}()
	if _, err := jobs.Count(t.Context(), kept, "", 1); err == nil || f.log() != "BEGIN ROLLBACK" {
		t.Errorf("after a panic: %s, and a verb gave %v", f.log(), err)
	}
}

// The end of the caller's context rolls back before COMMIT, and waits for it after.
func TestInHostTxEndsWithItsContext(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"INSERT", "COMMIT"} {
		ctx, cancel := context.WithCancel(t.Context())
		f, runs := &fake{}, 0
		f.answer = func(_ context.Context, text string) error {
			if strings.HasPrefix(text, at) {
				cancel()
			}
			return nil
		}
		err := write(ctx, f.store(t, func(c *Config) { c.Grace = time.Hour }), &runs)
		if at == "COMMIT" && err != nil || at == "INSERT" && !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", at, err)
		}
	}
}

// A call that forgets WithTx would write beside the transaction, and outlive its roll-back,
// or wait for it for ever.
func TestACallWithTheContextOfInHostTxThatIsNotBoundIsRefused(t *testing.T) {
	t.Parallel()
	for _, pool := range []int{1, 10} {
		f, runs := &fake{}, 0
		s := f.store(t, nil)
		s.cfg.Writer.(*Database).SetMaxOpenConns(pool)
		var kept context.Context
		err := s.InHostTx(t.Context(), func(ctx context.Context, _ *sql.Tx, bound driver.Tx) error {
			kept = ctx
			if _, err := jobs.Count(ctx, bound, "", 1); err != nil {
				t.Errorf("pool of %d: bound: %v", pool, err)
			}
			refused := map[string]error{
				"InTx":     look(ctx, s, &runs),
				"View":     s.View(ctx, func(driver.Reader) error { runs++; return nil }),
				"InHostTx": write(ctx, s, &runs),
			}
			_, refused["Next"] = s.Next(ctx, &jobs.Schema, driver.Claim{Lanes: []driver.LaneClaim{{}}}, time.Time{})
			_, refused["Blobs"] = s.Blobs().Open(ctx, driver.Ref{Name: "a"}, 0)
			for name, err := range refused {
				if !errors.Is(err, driver.ErrJoined) || !strings.Contains(err.Error(), "WithTx") {
					t.Errorf("pool of %d: %s: %v", pool, name, err)
				}
			}
			return look(ctx, s, &runs) // its error undoes the host's change
		})
		if !errors.Is(err, driver.ErrJoined) || runs != 0 || f.log() != "BEGIN SELECT ROLLBACK" {
			t.Errorf("pool of %d: %d runs: %s: %v", pool, runs, f.log(), err)
		}
		if err := look(kept, s, &runs); err != nil {
			t.Errorf("pool of %d: after the transaction: %v", pool, err)
		}
	}
}

// A host may change two databases in one function.
func TestInHostTxLetsCallsToAnotherStorePass(t *testing.T) {
	t.Parallel()
	f, runs := &fake{}, 0
	other := (&fake{}).store(t, nil)
	err := f.store(t, nil).InHostTx(t.Context(), func(ctx context.Context, _ *sql.Tx, _ driver.Tx) error {
		return other.InHostTx(ctx, func(ctx context.Context, _ *sql.Tx, bound driver.Tx) error {
			runs++
			_, err := jobs.Count(ctx, bound, "", 1)
			return err
		})
	})
	if err != nil || runs != 1 {
		t.Errorf("%d runs: %v", runs, err)
	}
}
