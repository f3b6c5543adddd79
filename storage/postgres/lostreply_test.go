package postgres

import (
	"testing"

	"github.com/belfry-go/belfry/internal/pgtest"
	"github.com/belfry-go/belfry/storage/driver"
)

// Trap 1: database/sql runs an auto-commit statement again when the connection
// closed after the server had run it.

func TestTrap1DriverRepeatsAutoCommitStatements(t *testing.T) {
	t.Parallel()
	dsn, proxy := viaProxy(t, pgtest.With(t, emptyDSN(t), "binary_parameters", "yes"))
	db := rawPool(t, dsn)
	exec(t, db, "CREATE TABLE raw (id int, owner text)", "CREATE TABLE job (id int, owner text)", "INSERT INTO job VALUES (1, NULL)")

	dropped := proxy.DropReplyOnce(request("INSERT INTO raw"))
	if _, err := db.ExecContext(t.Context(), "INSERT INTO raw VALUES ($1)", 1); err != nil {
		t.Fatal(err)
	}
	<-dropped
	if n := scan[int](t, db, "SELECT count(*) FROM raw"); n != 2 {
		t.Errorf("the driver wrote %d rows; if it is 1, the trap is gone", n)
	}

	dropped = proxy.DropReplyOnce(request("UPDATE job"))
	res, err := db.ExecContext(t.Context(), "UPDATE job SET owner = $1 WHERE owner IS NULL", "me")
	if err != nil {
		t.Fatal(err)
	}
	<-dropped
	n, _ := res.RowsAffected()
	if owner := scan[string](t, db, "SELECT owner FROM job"); n != 0 || owner != "me" {
		t.Errorf("claimed %d rows, owner %q; if it is 1, the trap is gone", n, owner)
	}
}

func TestTrap1LostReplyToAStatementWritesNothing(t *testing.T) {
	t.Parallel()
	dsn, proxy := viaProxy(t, emptyDSN(t))
	s := opened(t, dsn, nil)
	dropped := proxy.DropReplyOnce(request("INSERT INTO"))
	err := s.InTx(t.Context(), func(tx driver.Tx) error {
		_, err := tasks.Insert(t.Context(), tx, dueTasks(1)...)
		return err
	})
	<-dropped
	wantErr(t, err, driver.ErrUnavailable)
	if n := count(t, s); n != 0 {
		t.Errorf("%d rows were written", n)
	}
}

func TestTrap1LostReplyToCommitIsAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	dsn, proxy := viaProxy(t, emptyDSN(t))
	s := opened(t, dsn, nil)
	insert(t, s, dueTasks(10)...)
	dropped := proxy.DropReplyOnce(request("COMMIT\x00"))
	runs := 0
	var claimed []*task
	err := s.InTx(t.Context(), func(tx driver.Tx) (err error) {
		runs++
		claimed, err = tasks.Claim(t.Context(), tx, claimOf("mine", 10))
		return err
	})
	<-dropped
	wantErr(t, err, driver.ErrOutcomeUnknown)
	if runs != 1 {
		t.Errorf("the claim ran %d times although it may have won", runs)
	}
	// Read back by the token, the claim turns out to have won.
	if n := count(t, s, driver.Eq("claim_token", "mine"), driver.Eq("version", 2)); n != 10 || len(claimed) != 10 {
		t.Errorf("%d of %d claimed rows carry the token", n, len(claimed))
	}
}

func TestTrap1LostRequestToCommitIsAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	dsn, proxy := viaProxy(t, emptyDSN(t))
	s := opened(t, dsn, nil)
	err := s.InTx(t.Context(), func(tx driver.Tx) error {
		_, err := tasks.Insert(t.Context(), tx, dueTasks(1)...)
		proxy.CutAll()
		return err
	})
	wantErr(t, err, driver.ErrOutcomeUnknown)
	if n := count(t, s); n != 0 {
		t.Errorf("%d rows were written", n)
	}
}
