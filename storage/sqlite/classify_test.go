package sqlite

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"testing"

	"github.com/mattn/go-sqlite3"

	"github.com/belfry-go/belfry/storage/internal/sqlstore"
)

func TestErrorsOfTheDriverHaveAClass(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want sqlstore.Class
	}{
		{sqlite3.Error{Code: sqlite3.ErrBusy}, sqlstore.Busy},
		{sqlite3.Error{Code: sqlite3.ErrBusy, ExtendedCode: sqlite3.ErrBusyRecovery}, sqlstore.Busy},
		{sqlite3.Error{Code: sqlite3.ErrBusy, ExtendedCode: sqlite3.ErrBusySnapshot}, sqlstore.Serialization},
		{sqlite3.Error{Code: sqlite3.ErrLocked}, sqlstore.Busy},
		{sqlite3.Error{Code: sqlite3.ErrProtocol}, sqlstore.Busy},
		{sqlite3.Error{Code: sqlite3.ErrConstraint, ExtendedCode: sqlite3.ErrConstraintUnique}, sqlstore.Unique},
		{sqlite3.Error{Code: sqlite3.ErrConstraint, ExtendedCode: sqlite3.ErrConstraintPrimaryKey}, sqlstore.Unique},
		{sqlite3.Error{Code: sqlite3.ErrConstraint, ExtendedCode: sqlite3.ErrConstraintNotNull}, sqlstore.Unknown},
		{sqlite3.Error{Code: sqlite3.ErrReadonly}, sqlstore.ReadOnly},
		{sqlite3.Error{Code: sqlite3.ErrFull}, sqlstore.DiskFull},
		{sqlite3.Error{Code: sqlite3.ErrIoErr, ExtendedCode: sqlite3.ErrIoErrFsync}, sqlstore.Connection},
		{sqlite3.Error{Code: sqlite3.ErrCantOpen}, sqlstore.Connection},
		{sqlite3.Error{Code: sqlite3.ErrError}, sqlstore.Unknown},
		{driver.ErrBadConn, sqlstore.Connection},
		{errors.New("other"), sqlstore.Unknown},
	} {
		if got := classify(fmt.Errorf("wrapped: %w", c.err)); got != c.want {
			t.Errorf("%v: %v instead of %v", c.err, got, c.want)
		}
	}
}

// The same from the library itself.
func TestErrorsOfTheLibraryHaveAClass(t *testing.T) {
	t.Parallel()
	db := raw(t, ":memory:")
	db.SetMaxOpenConns(1)
	execSQL(t, db, "CREATE TABLE t (n UNIQUE NOT NULL)", "INSERT INTO t VALUES (1)")
	for text, want := range map[string]sqlstore.Class{
		"INSERT INTO t VALUES (1)":    sqlstore.Unique,
		"INSERT INTO t VALUES (NULL)": sqlstore.Unknown,
		"SELECT nothing":              sqlstore.Unknown,
	} {
		if _, err := db.ExecContext(t.Context(), text); classify(err) != want {
			t.Errorf("%s: %v is not %v", text, err, want)
		}
	}
	execSQL(t, db, "PRAGMA max_page_count = 2")
	if _, err := db.ExecContext(t.Context(), "CREATE TABLE u (n)"); classify(err) != sqlstore.DiskFull {
		t.Errorf("a full disk: %v", err)
	}
	execSQL(t, db, "PRAGMA query_only = 1")
	if _, err := db.ExecContext(t.Context(), "INSERT INTO t VALUES (2)"); classify(err) != sqlstore.ReadOnly {
		t.Errorf("a reader that writes: %v", err)
	}
}
