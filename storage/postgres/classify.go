package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"strings"

	"github.com/belfry-go/belfry/storage/internal/sqlstore"
)

// states maps SQLSTATE codes to what they mean to a transaction; the source is
// "PostgreSQL Error Codes" in PostgreSQL's manual.
var states = map[string]sqlstore.Class{
	"23505": sqlstore.Unique,        // unique_violation
	"55P03": sqlstore.LockTimeout,   // lock_not_available
	"40001": sqlstore.Serialization, // serialization_failure
	"40P01": sqlstore.Serialization, // deadlock_detected
	"25006": sqlstore.ReadOnly,      // read_only_sql_transaction
	"53100": sqlstore.DiskFull,      // disk_full
	"40003": sqlstore.Connection,    // statement_completion_unknown
	"57P01": sqlstore.Connection,    // admin_shutdown
	"57P02": sqlstore.Connection,    // crash_shutdown
	"57P03": sqlstore.Connection,    // cannot_connect_now
	"57P04": sqlstore.Connection,    // database_dropped
	"57P05": sqlstore.Connection,    // idle_session_timeout
	"25P03": sqlstore.Connection,    // idle_in_transaction_session_timeout
	"25P04": sqlstore.Connection,    // transaction_timeout
}

// classify says what an error of lib/pq, or of pgx through database/sql, means.
func classify(err error) sqlstore.Class {
	if state, ok := sqlState(err); ok {
		if strings.HasPrefix(state, "08") {
			return sqlstore.Connection
		}
		return states[state]
	}
	if connectionLost(err) {
		return sqlstore.Connection
	}
	return sqlstore.Unknown
}

// sqlState finds the code that the server gave; *pq.Error and pgx's *PgError
// both have the method.
func sqlState(err error) (string, bool) {
	var e interface{ SQLState() string }
	if errors.As(err, &e) {
		return e.SQLState(), true
	}
	return "", false
}

// connectionLost reports whether err came from the connection rather than from
// the server. A context's error is neither, although DeadlineExceeded passes
// for a net.Error.
func connectionLost(err error) bool {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	for _, lost := range []error{
		driver.ErrBadConn, sql.ErrConnDone, io.EOF, io.ErrUnexpectedEOF, io.ErrClosedPipe, net.ErrClosed,
	} {
		if errors.Is(err, lost) {
			return true
		}
	}
	if n := net.Error(nil); errors.As(err, &n) {
		return true
	}
	if s := (*ServerError)(nil); errors.As(err, &s) { // no primary, as in a failover
		return true
	}
	var unsent interface{ SafeToRetry() bool } // pgx: a closed connection
	return errors.As(err, &unsent) && unsent.SafeToRetry()
}
