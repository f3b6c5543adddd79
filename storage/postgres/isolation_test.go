package postgres

import (
	"database/sql"
	"errors"
	"testing"

	"github.com/lib/pq"

	"github.com/belfry-go/belfry/storage/driver"
)

// Trap 6: at REPEATABLE READ and above, a key that was committed after the
// snapshot is a serialization failure, ON CONFLICT DO NOTHING or not.

// behind is a host's transaction with a snapshot from before the task was
// inserted.
func behind(t *testing.T, s *Store, level sql.IsolationLevel) *sql.Tx {
	t.Helper()
	tx, err := s.DB().BeginTx(t.Context(), &sql.TxOptions{Isolation: level})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback() })
	var n int
	if err := tx.QueryRowContext(t.Context(), "SELECT count(*) FROM task").Scan(&n); err != nil {
		t.Fatal(err)
	}
	insert(t, s, dueTasks(1)...)
	return tx
}

func TestTrap6DriverReportsASerializationFailureForAKnownKey(t *testing.T) {
	t.Parallel()
	s := opened(t, emptyDSN(t), nil)
	tx := behind(t, s, sql.LevelRepeatableRead)
	_, err := tx.ExecContext(t.Context(), `INSERT INTO task SELECT * FROM task ON CONFLICT DO NOTHING`)
	if err != nil {
		t.Fatal(err) // the snapshot does not have it
	}
	_, err = tx.ExecContext(t.Context(), `INSERT INTO task (scope, key, kind, status, version, lane, claim_token, abandoned, note)
		VALUES ('', 'task-0000000', '', '', 1, 0, '', false, '') ON CONFLICT DO NOTHING`)
	var failed *pq.Error
	if !errors.As(err, &failed) || failed.Code != "40001" {
		t.Errorf("%v; the trap is gone", err)
	}
}

func TestTrap6JoinedInsertAsksTheHostToRepeat(t *testing.T) {
	t.Parallel()
	s := opened(t, emptyDSN(t), nil)
	tx := behind(t, s, sql.LevelRepeatableRead)
	_, err := tasks.Insert(t.Context(), s.Join(tx), dueTasks(1)...)
	wantErr(t, err, driver.ErrRetryTx)
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	again, err := s.DB().BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
	if err != nil {
		t.Fatal(err)
	}
	added, err := tasks.Insert(t.Context(), s.Join(again), dueTasks(1)...)
	if err != nil || added[0] {
		t.Errorf("repeated: %v, %v; want the key to be known", added, err)
	}
	if err := again.Commit(); err != nil {
		t.Fatal(err)
	}
}

func TestTrap6OwnTransactionsAreReadCommittedWhateverTheDefault(t *testing.T) {
	t.Parallel()
	dsn := emptyDSN(t)
	exec(t, rawPool(t, dsn), "DO $$ BEGIN EXECUTE 'ALTER DATABASE ' || current_database() || ' SET default_transaction_isolation = serializable'; END $$")
	s := opened(t, dsn, nil)
	err := s.InTx(t.Context(), func(tx driver.Tx) error {
		if _, err := tasks.Find(t.Context(), tx, "", driver.Query{Limit: 1}); err != nil {
			return err // the snapshot is taken
		}
		insert(t, s, dueTasks(1)...)
		added, err := tasks.Insert(t.Context(), tx, dueTasks(1)...)
		if err == nil && added[0] {
			t.Error("a key that was committed meanwhile was inserted again")
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
