//go:build cgo

package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"testing"

	"github.com/mattn/go-sqlite3"

	"github.com/belfry-go/belfry/storage/internal/sqlstore"
)

// inC says that the library makes calls of C's, which a test can make fail.
const inC = true

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
		{sqlite3.Error{Code: sqlite3.ErrFull}, sqlstore.NoRoom},
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

// stopping gives a connection a function that cancels a context from within a
// statement, and says how it is called.
func stopping(t *testing.T, conn *sql.Conn, cancel context.CancelFunc) (call string) {
	t.Helper()
	err := conn.Raw(func(c any) error {
		return c.(*sqlite3.SQLiteConn).RegisterFunc("stop", func() int { cancel(); return 0 }, false)
	})
	if err != nil {
		t.Fatal(err)
	}
	return "stop()"
}
