package postgres

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/belfry-go/belfry/storage/driver"
)

// A statement of the host's that failed, and was overlooked, has not committed: the
// server rolls back and says COMMIT all the same.
func TestAFailedStatementThatTheHostOverlooksIsNoCommit(t *testing.T) {
	t.Parallel()
	s := opened(t, emptyDSN(t), nil)
	err := s.InHostTx(t.Context(), func(host *sql.Tx, bound driver.Tx) error {
		if _, err := tasks.Insert(t.Context(), bound, dueTasks(1)...); err != nil {
			return err
		}
		_, _ = host.ExecContext(t.Context(), "SELECT 1 / 0")
		return nil
	})
	if err == nil || errors.Is(err, driver.ErrOutcomeUnknown) {
		t.Errorf("got %v", err)
	}
	if n := count(t, s); n != 0 {
		t.Errorf("%d rows", n)
	}
}

// Two hosts that lock each other's rows: one of them is run again.
func TestADeadlockOfHostsIsRunAgain(t *testing.T) {
	t.Parallel()
	s := opened(t, emptyDSN(t), nil)
	exec(t, s.DB(), "CREATE TABLE booking (n int)", "INSERT INTO booking VALUES (1), (2)")
	met := [2]chan struct{}{make(chan struct{}), make(chan struct{})}
	done := make(chan error, 2)
	for me, order := range [2][2]int{{1, 2}, {2, 1}} {
		go func() {
			runs := 0
			done <- s.InHostTx(t.Context(), func(host *sql.Tx, _ driver.Tx) error {
				runs++
				for i, n := range order {
					if _, err := host.ExecContext(context.WithoutCancel(t.Context()), "UPDATE booking SET n = n WHERE n = $1", n); err != nil {
						return err
					}
					if i == 0 && runs == 1 {
						close(met[me])
						<-met[1-me]
					}
				}
				return nil
			})
		}()
	}
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// Other processes hear of what a host's transaction made due.
func TestAHostsTransactionNotifies(t *testing.T) {
	t.Parallel()
	dsn := emptyDSN(t)
	s := opened(t, dsn, &Options{Notify: true})
	other := reopened(t, dsn, &Options{Notify: true})
	until(t, s.DB(), listening, 2)
	signal := other.Waker().Listen(tasks.Name)
	defer signal.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	// The driver drops what comes while it subscribes, so one hint may be lost.
	for _, row := range dueTasks(1000) {
		err := s.InHostTx(ctx, func(_ *sql.Tx, bound driver.Tx) error {
			_, err := tasks.Insert(ctx, bound, row)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		exec(t, s.DB(), "SELECT pg_sleep(0.01)")
		if !signal.Take().IsZero() {
			return
		}
	}
	t.Error("nobody was told")
}
