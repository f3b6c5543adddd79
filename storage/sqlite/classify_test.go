package sqlite

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"testing"

	"github.com/mattn/go-sqlite3"

	"github.com/belfry-go/belfry/storage/internal/sqltext"
)

func TestErrorsOfTheDriverHaveAClass(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want sqltext.Class
	}{
		{sqlite3.Error{Code: sqlite3.ErrBusy}, sqltext.Busy},
		{sqlite3.Error{Code: sqlite3.ErrBusy, ExtendedCode: sqlite3.ErrBusyRecovery}, sqltext.Busy},
		{sqlite3.Error{Code: sqlite3.ErrBusy, ExtendedCode: sqlite3.ErrBusySnapshot}, sqltext.Serialization},
		{sqlite3.Error{Code: sqlite3.ErrLocked}, sqltext.Busy},
		{sqlite3.Error{Code: sqlite3.ErrProtocol}, sqltext.Busy},
		{sqlite3.Error{Code: sqlite3.ErrConstraint, ExtendedCode: sqlite3.ErrConstraintUnique}, sqltext.Unique},
		{sqlite3.Error{Code: sqlite3.ErrConstraint, ExtendedCode: sqlite3.ErrConstraintPrimaryKey}, sqltext.Unique},
		{sqlite3.Error{Code: sqlite3.ErrConstraint, ExtendedCode: sqlite3.ErrConstraintNotNull}, sqltext.Unknown},
		{sqlite3.Error{Code: sqlite3.ErrReadonly}, sqltext.ReadOnly},
		{sqlite3.Error{Code: sqlite3.ErrFull}, sqltext.NoRoom},
		{sqlite3.Error{Code: sqlite3.ErrIoErr, ExtendedCode: sqlite3.ErrIoErrFsync}, sqltext.Connection},
		{sqlite3.Error{Code: sqlite3.ErrCantOpen}, sqltext.Connection},
		{sqlite3.Error{Code: sqlite3.ErrError}, sqltext.Unknown},
		{driver.ErrBadConn, sqltext.Connection},
		{errors.New("other"), sqltext.Unknown},
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
	for text, want := range map[string]sqltext.Class{
		"INSERT INTO t VALUES (1)":    sqltext.Unique,
		"INSERT INTO t VALUES (NULL)": sqltext.Unknown,
		"SELECT nothing":              sqltext.Unknown,
	} {
		if _, err := db.ExecContext(t.Context(), text); classify(err) != want {
			t.Errorf("%s: %v is not %v", text, err, want)
		}
	}
	execSQL(t, db, "PRAGMA max_page_count = 2")
	if _, err := db.ExecContext(t.Context(), "CREATE TABLE u (n)"); classify(err) != sqltext.NoRoom {
		t.Errorf("a full disk: %v", err)
	}
	execSQL(t, db, "PRAGMA query_only = 1")
	if _, err := db.ExecContext(t.Context(), "INSERT INTO t VALUES (2)"); classify(err) != sqltext.ReadOnly {
		t.Errorf("a reader that writes: %v", err)
	}
}
