package automation_test

import (
	"testing"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/internal/pgtest"
	"github.com/belfry-go/belfry/internal/testlevel"
	"github.com/belfry-go/belfry/storage/postgres"
)

// Where all is as wanted, a whole run writes nothing to the log of the database.
//
//spec:a-109
func TestReconcilingWhatIsRightWritesNoWAL(t *testing.T) {
	t.Parallel()
	testlevel.Need(t, testlevel.All)
	clk := clock.NewMock()
	clk.Set(start)
	// A server that writes no WAL of its own accord.
	server := pgtest.New(t, &pgtest.Options{Settings: map[string]string{
		"autovacuum": "off", "wal_level": "minimal", "max_wal_senders": "0", "checkpoint_timeout": "1h",
	}})
	store, err := postgres.Open(t.Context(), server.Database(t), &postgres.Options{Clock: clk})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	w := newWorld(t, store, clk, nil)
	s := w.withStaff(func(c *automation.Scan) { c.Batch = 50 })
	w.hire(s, 500)
	run := func() (written int64, r automation.ReconcileReport) {
		t.Helper()
		position := func() (at int64) {
			t.Helper()
			row := store.DB().QueryRowContext(t.Context(), "SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn")
			if err := row.Scan(&at); err != nil {
				t.Fatal(err)
			}
			return at
		}
		before := position()
		r = w.reconcile(automation.ReconcileOptions{FromStart: true})
		return position() - before, r
	}
	if written, r := run(); written < 100_000 || r.Created != 1000 {
		t.Errorf("creating wrote %d bytes; this test proves nothing: %+v", written, counts(r))
	}
	w.pollAt(day(2026, 4, 1, 9)) // some of the rows are completed
	// Reading sets hint bits on pages, which is written down.
	if _, err := store.DB().ExecContext(t.Context(), "VACUUM"); err != nil {
		t.Fatal(err)
	}
	if written, r := run(); written != 0 || r.Unchanged != 500 {
		t.Errorf("%d bytes were written: %+v", written, counts(r))
	}
}
