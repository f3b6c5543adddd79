package main

import (
	"database/sql"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/belfry-go/belfry/internal/contender"
	"github.com/belfry-go/belfry/internal/pgtest"
)

func TestHarmIsSeen(t *testing.T) {
	t.Parallel()
	a, dsn := fakeArena(t), pgtest.DSN(t)
	task := contender.Task{Database: dsn, Rows: 20, Handlers: 4}
	if err := a.fill(t.Context(), us, task); err != nil {
		t.Fatal(err)
	}
	if _, err := a.drain(t.Context(), us, 2, task); err != nil {
		t.Fatal(err)
	}
	harmed := func(wantAgain, wantDeadlocks float64) {
		t.Helper()
		again, deadlocks, err := a.harm(t.Context(), dsn)
		if err != nil || again != wantAgain || deadlocks != wantDeadlocks {
			t.Errorf("harm = %v, %v, %v; want %v, %v", again, deadlocks, err, wantAgain, wantDeadlocks)
		}
	}
	harmed(0, 0)
	// As a second claim and settling would, and as a row that was left.
	if err := a.exec(t.Context(), dsn, `UPDATE automation_scheduler SET version = version + 2 WHERE id IN (SELECT id FROM automation_scheduler LIMIT 2)`,
		`UPDATE automation_scheduler SET version = 1 WHERE id IN (SELECT id FROM automation_scheduler WHERE version = 3 LIMIT 1)`); err != nil {
		t.Fatal(err)
	}
	deadlock(t, dsn)
	harmed(3, 1)
}

// deadlock lets two sessions wait for each other.
func deadlock(t *testing.T, dsn string) {
	t.Helper()
	db, err := sql.Open("postgres", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var txs [2]*sql.Tx
	for i := range txs {
		if txs[i], err = db.BeginTx(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		defer txs[i].Rollback()
		if _, err := txs[i].ExecContext(t.Context(), "SELECT pg_advisory_xact_lock($1)", i); err != nil {
			t.Fatal(err)
		}
	}
	var g errgroup.Group
	for i, tx := range txs {
		g.Go(func() error {
			_, err := tx.ExecContext(t.Context(), "SELECT pg_advisory_xact_lock($1)", 1-i)
			return err
		})
	}
	if g.Wait() == nil {
		t.Error("there was no deadlock")
	}
}
