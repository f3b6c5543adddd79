package sqlite

import (
	"context"
	"errors"
	"testing"

	"github.com/belfry-go/belfry/storage/driver"
)

// Trap 7: when the context of a statement ends while it runs, SQLite undoes the
// whole transaction, and the next statement commits by itself.

// cancelling is a store whose table of tasks cancels a context when a task is
// inserted, while the statement runs.
func cancelling(t *testing.T) (*Store, context.Context) {
	t.Helper()
	s, _ := onFile(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	conn, err := s.DB().Conn(t.Context()) // there is only one
	if err != nil {
		t.Fatal(err)
	}
	stop := stopping(t, conn, cancel)
	execSQL(t, conn, "CREATE TEMP TRIGGER stop AFTER INSERT ON task WHEN NEW.key = 'task-00000' BEGIN SELECT "+stop+"; END")
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	return s, ctx
}

// The function goes on after errors, as a bad one might, and returns none.
func TestTrap7NothingIsCommittedOutsideOfACancelledTransaction(t *testing.T) {
	t.Parallel()
	s, ctx := cancelling(t)
	rows := dueTasks(3)
	err := s.InTx(ctx, func(tx driver.Tx) error {
		if _, err := tasks.Insert(ctx, tx, rows[0]); err != nil {
			t.Errorf("the statement that ran when the context ended: %v", err)
		}
		if _, err := tasks.Insert(ctx, tx, rows[1]); !errors.Is(err, context.Canceled) {
			t.Errorf("the next one: %v", err)
		}
		_, _ = tasks.Insert(t.Context(), tx, rows[2]) // with a context that goes on
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if n := scan[int](t, s.DB(), "SELECT count(*) FROM task"); n != 0 {
		t.Errorf("%d rows were committed", n)
	}
}

// Without the defence the driver undoes the host's transaction unseen, and what
// the host writes next stays although it rolls back.
func TestTrap7JoinedTransactionStaysTheHosts(t *testing.T) {
	t.Parallel()
	s, ctx := cancelling(t)
	execSQL(t, s.DB(), "CREATE TABLE host (n)")
	host, err := s.DB().BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	rows := dueTasks(2)
	if _, err := tasks.Insert(ctx, s.Join(host), rows[0]); err != nil {
		t.Errorf("the statement that ran when the context ended: %v", err)
	}
	if _, err := tasks.Insert(ctx, s.Join(host), rows[1]); !errors.Is(err, context.Canceled) {
		t.Errorf("the next one: %v", err)
	}
	execSQL(t, host, "INSERT INTO host VALUES (1)")
	if err := host.Rollback(); err != nil {
		t.Error(err)
	}
	if n := scan[int](t, s.DB(), "SELECT (SELECT count(*) FROM host) + (SELECT count(*) FROM task)"); n != 0 {
		t.Errorf("%d rows were committed", n)
	}
}
