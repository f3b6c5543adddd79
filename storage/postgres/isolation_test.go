package postgres

import (
	"database/sql"
	"errors"
	"testing"

	"github.com/lib/pq"
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
