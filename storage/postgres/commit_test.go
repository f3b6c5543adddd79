package postgres

import (
	"context"
	"testing"

	"github.com/belfry-go/belfry/internal/testlevel"
	"github.com/belfry-go/belfry/storage/internal/traptest"
)

// Trap 4: a COMMIT that is cancelled while it waits for a synchronous standby
// succeeds, with no more than a warning.

func TestTrap4DriverTakesACancelledCommitForASuccess(t *testing.T) {
	t.Parallel()
	testlevel.Need(t, testlevel.Nightly)
	dsn, admin := traptest.Lonely(t, func(dsn string) { exec(t, rawPool(t, dsn), "CREATE TABLE raw (id int)") })
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	tx, err := rawPool(t, dsn).BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.ExecContext(ctx, "INSERT INTO raw VALUES (1)"); err != nil {
		t.Fatal(err)
	}
	committed := make(chan error)
	go func() { committed <- tx.Commit() }()
	until(t, admin, traptest.InSyncWait)
	cancel()
	if err := <-committed; err != nil {
		t.Errorf("%v; the trap is gone", err)
	}
}
