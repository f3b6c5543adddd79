//go:build cgo

package sqlite

import (
	"database/sql"
	"database/sql/driver"
	"errors"

	"github.com/mattn/go-sqlite3"

	"github.com/belfry-go/belfry/storage/internal/sqlstore"
)

// classify says what an error of the driver means. After an I/O error the file
// may hold what was reported as failed, so it counts as a lost connection.
func classify(err error) sqlstore.Class {
	var e sqlite3.Error
	if !errors.As(err, &e) {
		if errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) {
			return sqlstore.Connection
		}
		return sqlstore.Unknown
	}
	switch e.Code {
	case sqlite3.ErrBusy:
		if e.ExtendedCode == sqlite3.ErrBusySnapshot {
			return sqlstore.Serialization
		}
		return sqlstore.Busy
	case sqlite3.ErrLocked, sqlite3.ErrProtocol:
		return sqlstore.Busy
	case sqlite3.ErrConstraint:
		switch e.ExtendedCode {
		case sqlite3.ErrConstraintUnique, sqlite3.ErrConstraintPrimaryKey, sqlite3.ErrConstraintRowID:
			return sqlstore.Unique
		}
	case sqlite3.ErrReadonly:
		return sqlstore.ReadOnly
	case sqlite3.ErrFull:
		return sqlstore.DiskFull
	case sqlite3.ErrIoErr, sqlite3.ErrCantOpen:
		return sqlstore.Connection
	}
	return sqlstore.Unknown
}
