package postgres

import (
	"testing"

	"github.com/belfry-go/belfry/internal/pgtest"
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
