package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/lib/pq"

	"github.com/belfry-go/belfry/internal/pgtest"
	"github.com/belfry-go/belfry/storage/driver"
)

const pollers = 8

// ledger counts how often each task was held and ended.
type ledger struct {
	sync.Mutex
	held, ended map[int64]int
}

func (l *ledger) note(counts map[int64]int, rows []*task) {
	l.Lock()
	defer l.Unlock()
	for _, r := range rows {
		counts[r.ID]++
	}
}

// Eight pollers, each with a pool of its own, claim, extend and settle while a
// ninth repeats what was ensured: every task is held and ended once, and nobody
// waits for anybody in a circle. The server looks for circles at once, before
// the lock time-out hides them, and tells of them in its log (its counter names
// the wrong database at times).
func TestI6_EightPollersNeverHoldATaskTwice(t *testing.T) {
	t.Parallel()
	server := ownServer(t, &pgtest.Options{Settings: map[string]string{"deadlock_timeout": "10ms"}})
	dsn := server.Database(t)
	const n = 4000
	all := dueTasks(n)
	s := opened(t, dsn, nil)
	insert(t, s, all...)
	l := &ledger{held: map[int64]int{}, ended: map[int64]int{}}
	var work sync.WaitGroup
	for p := range pollers {
		handle := reopened(t, dsn, &Options{Migrate: MigrateOff, MaxOpenConns: 2})
		work.Go(func() {
			if err := poll(t.Context(), handle, l, fmt.Sprint("poller-", p)); err != nil {
				t.Error(err)
			}
		})
	}
	repeated := make(chan error)
	go func() { repeated <- ensureAgain(t.Context(), s, all) }()
	work.Wait()
	if err := <-repeated; err != nil {
		t.Error(err)
	}
	for what, counts := range map[string]map[int64]int{"held": l.held, "ended": l.ended} {
		if len(counts) != n {
			t.Errorf("%d of %d tasks were %s", len(counts), n, what)
		}
		for id, times := range counts {
			if times != 1 {
				t.Errorf("task %d was %s %d times", id, what, times)
			}
		}
	}
	const deadlock = "deadlock detected"
	if found := logged(t, s.DB(), deadlock); len(found) != 0 {
		t.Errorf("deadlocks: %q", found)
	}
	lockInACircle(t, rawPool(t, dsn))
	if found := logged(t, s.DB(), deadlock); len(found) != 1 {
		t.Errorf("one deadlock on purpose, in the log: %q", found)
	}
}

// poll works until nothing is left.
func poll(ctx context.Context, s *Store, l *ledger, token string) error {
	for turn := 0; ; turn++ {
		rows, err := claim(ctx, s, claimOf(fmt.Sprint(token, "-", turn), 40))
		if err != nil || len(rows) == 0 {
			return err
		}
		l.note(l.held, rows)
		err = s.InTx(ctx, func(tx driver.Tx) error {
			_, err := tasks.Extend(ctx, tx, noon.Add(time.Hour), rows...)
			return err
		})
		if err != nil {
			return err
		}
		if err := settle(ctx, s, rows, token); err != nil {
			return err
		}
		l.note(l.ended, rows)
	}
}

// ensureAgain ensures what is there.
func ensureAgain(ctx context.Context, s *Store, all []*task) error {
	for end := len(all); end > 0; end -= 500 {
		again := dueTasks(end)[end-500:]
		err := s.InTx(ctx, func(tx driver.Tx) error {
			_, err := tasks.Ensure(ctx, tx, func(_, _ *task) (driver.Outcome, bool) { return driver.Unchanged, false }, again...)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// lockInACircle lets two transactions lock two rows crosswise.
func lockInACircle(t *testing.T, db *sql.DB) {
	t.Helper()
	exec(t, db, "CREATE TABLE pair (id int PRIMARY KEY)", "INSERT INTO pair VALUES (1), (2)")
	first, second := begun(t, db, 1), begun(t, db, 2)
	other := make(chan error)
	go func() {
		_, err := second.ExecContext(t.Context(), "UPDATE pair SET id = id WHERE id = 1")
		other <- errors.Join(err, second.Rollback())
	}()
	_, err := first.ExecContext(t.Context(), "UPDATE pair SET id = id WHERE id = 2")
	err = errors.Join(err, first.Rollback(), <-other)
	var failed *pq.Error
	if !errors.As(err, &failed) || failed.Code != "40P01" {
		t.Errorf("got %v", err)
	}
}

// begun is a transaction that holds a lock on one row.
func begun(t *testing.T, db *sql.DB, id int) *sql.Tx {
	t.Helper()
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.ExecContext(t.Context(), "UPDATE pair SET id = id WHERE id = $1", id); err != nil {
		t.Fatal(err)
	}
	return tx
}
