package postgres

import (
	"context"
	"database/sql"
	"testing"

	"github.com/belfry-go/belfry/storage/driver"
)

// Trap 4: a COMMIT that is cancelled while it waits for a synchronous standby
// succeeds, with no more than a warning.

const inSyncWait = "SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND datname = current_database()"

// lonely is a database whose commits wait for a standby that never comes; admin
// can look on. prepare runs before that.
func lonely(t *testing.T, prepare func(dsn string)) (dsn string, admin *sql.DB) {
	t.Helper()
	server := ownServer(t, nil)
	dsn = server.Database(t)
	prepare(dsn)
	admin = rawPool(t, dsn)
	exec(t, admin, "ALTER SYSTEM SET synchronous_standby_names = 'never'", "SELECT pg_reload_conf()")
	until(t, admin, "SELECT current_setting('synchronous_standby_names') = 'never'")
	t.Cleanup(func() { // let those that still wait end
		for _, statement := range []string{"ALTER SYSTEM RESET synchronous_standby_names", "SELECT pg_reload_conf()"} {
			if _, err := admin.ExecContext(context.WithoutCancel(t.Context()), statement); err != nil {
				t.Error(err)
			}
		}
	})
	return dsn, admin
}

func TestTrap4DriverTakesACancelledCommitForASuccess(t *testing.T) {
	t.Parallel()
	dsn, admin := lonely(t, func(dsn string) { exec(t, rawPool(t, dsn), "CREATE TABLE raw (id int)") })
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
	until(t, admin, inSyncWait)
	cancel()
	if err := <-committed; err != nil {
		t.Errorf("%v; the trap is gone", err)
	}
}

// committing inserts a task in a transaction whose COMMIT waits, does something
// to it meanwhile, and returns what InTx says.
func committing(t *testing.T, meanwhile func(admin *sql.DB, cancel context.CancelFunc)) (*sql.DB, error) {
	t.Helper()
	dsn, admin := lonely(t, func(dsn string) { opened(t, dsn, nil) })
	s := reopened(t, dsn, &Options{Clock: realTime, Migrate: MigrateOff})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	result := make(chan error)
	go func() {
		result <- s.InTx(ctx, func(tx driver.Tx) error {
			_, err := tasks.Insert(ctx, tx, dueTasks(1)...)
			return err
		})
	}()
	until(t, admin, inSyncWait)
	meanwhile(admin, cancel)
	return admin, <-result
}

func TestTrap4CancelledCommitIsAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	admin, err := committing(t, func(_ *sql.DB, cancel context.CancelFunc) { cancel() })
	wantErr(t, err, driver.ErrOutcomeUnknown)
	wantErr(t, err, context.Canceled)
	// The server was told to stop waiting, so that no lock stays behind.
	until(t, admin, "SELECT NOT ("+inSyncWait+")")
}

func TestTrap4CommitCancelledByAnOperatorIsAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	_, err := committing(t, func(admin *sql.DB, _ context.CancelFunc) {
		exec(t, admin, "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
	})
	wantErr(t, err, driver.ErrOutcomeUnknown)
	wantErr(t, err, errUnsynced)
}

func TestTrap4CommitTerminatedByAnOperatorIsAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	_, err := committing(t, func(admin *sql.DB, _ context.CancelFunc) {
		exec(t, admin, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
	})
	wantErr(t, err, driver.ErrOutcomeUnknown)
}
