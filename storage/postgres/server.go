package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/lib/pq"

	"github.com/belfry-go/belfry/storage/internal/sqltext"
)

// systemIdentifier is the number that initdb gave to the database cluster and
// its replicas; empty where the role may not ask for it.
func systemIdentifier(ctx context.Context, db *sql.DB) (string, error) {
	var id string
	err := onConn(ctx, db, func(c *sql.Conn) error {
		return c.QueryRowContext(ctx, "SELECT system_identifier::text FROM pg_control_system()").Scan(&id)
	})
	switch state, _ := sqlState(err); state {
	case "42501", "42883": // insufficient_privilege, undefined_function
		return "", nil
	}
	return id, err
}

// serverTime looks at the server's clock. Waiting for a free connection does
// not count as part of the round trip.
func serverTime(db *sql.DB) source {
	return func(ctx context.Context, elapsed func() time.Duration) (r reading, err error) {
		err = onConn(ctx, db, func(c *sql.Conn) error {
			r.sent = elapsed()
			err := c.QueryRowContext(ctx, "SELECT clock_timestamp()").Scan(&r.server)
			r.received, r.server = elapsed(), r.server.UTC()
			return err
		})
		return r, err
	}
}

// ServerError says why a server, or the way to it, cannot be worked with, and
// what to change.
type ServerError struct{ Problem string }

func (e *ServerError) Error() string { return "postgres: " + e.Problem }

// oldest is the oldest major version of PostgreSQL that is supported.
const oldest = 13

// facts are what a server says about itself.
type facts struct {
	version  int // 150004 is 15.4
	standby  bool
	readOnly bool
	encoding string
}

const (
	usePrimary    = "connect to the primary, or list all hosts in the connection string with target_session_attrs=read-write"
	unsetReadOnly = "unset default_transaction_read_only for this role, database or connection"
)

const factsSQL = `SELECT current_setting('server_version_num')::int, pg_is_in_recovery(),
	current_setting('transaction_read_only') = 'on', current_setting('server_encoding')`

// checkServer refuses a server that cannot hold the contract.
func checkServer(ctx context.Context, db *sql.DB) error {
	var f facts
	err := onConn(ctx, db, func(c *sql.Conn) error {
		return c.QueryRowContext(ctx, factsSQL).Scan(&f.version, &f.standby, &f.readOnly, &f.encoding)
	})
	if err != nil {
		return fmt.Errorf("postgres: self-test: %w", err)
	}
	return f.check()
}

func (f facts) check() error {
	switch {
	case f.version/10000 < oldest:
		return &ServerError{fmt.Sprintf("the server is PostgreSQL %d; %d or newer is needed", f.version/10000, oldest)}
	case f.standby:
		return &ServerError{"the server is a replica (hot standby); " + usePrimary}
	case f.readOnly:
		return &ServerError{"the session is read-only; " + unsetReadOnly}
	case f.encoding != "UTF8":
		return &ServerError{fmt.Sprintf("the database's encoding is %s; create it with ENCODING 'UTF8'", f.encoding)}
	}
	return nil
}

// errTwoStep refuses a host's pool that speaks in a way that its pooler breaks.
var errTwoStep = &ServerError{"the connection goes through a transaction pooler, and the driver sends statements in two steps, " +
	"between which another client's may be run instead; add to the connection string binary_parameters=yes for lib/pq, " +
	"default_query_exec_mode=exec for pgx"}

// checkPool refuses a host's pool in two steps behind a transaction pooler.
func checkPool(ctx context.Context, db *sql.DB) error {
	shared, err := pooled(ctx, db)
	if err != nil || !shared {
		return err
	}
	twoStep, err := speaksTwoStep(ctx, db)
	if err == nil && twoStep {
		return errTwoStep
	}
	return err
}

// mislaid reports whether a driver found a statement that it prepared on another
// backend than it thinks, which only a pooler brings about.
func mislaid(err error) bool {
	state, _ := sqlState(err)
	return state == "26000" || // invalid_sql_statement_name: it was prepared elsewhere
		state == "42P05" // duplicate_prepared_statement: somebody else has it here
}

// pooled reports whether a pooler lends one backend to several connections: a
// connection that is open and idle has the backend that another one then gets.
// With only one connection allowed, or a busy pooler, it may not find out.
func pooled(ctx context.Context, db *sql.DB) (bool, error) {
	if db.Stats().MaxOpenConnections == 1 {
		return false, nil
	}
	shared := false
	err := onConn(ctx, db, func(idle *sql.Conn) error {
		return onConn(ctx, db, func(busy *sql.Conn) (err error) {
			for attempt := 0; attempt < 3 && !shared && err == nil; attempt++ {
				shared, err = sameBackend(ctx, idle, busy)
			}
			return err
		})
	})
	if err != nil {
		return false, fmt.Errorf("postgres: self-test: %w", err)
	}
	return shared, nil
}

func sameBackend(ctx context.Context, idle, busy *sql.Conn) (bool, error) {
	const backend = "SELECT pg_backend_pid()"
	var first, second int
	if err := idle.QueryRowContext(ctx, backend).Scan(&first); err != nil {
		return false, err
	}
	tx, err := busy.BeginTx(ctx, nil)
	if err != nil {
		return false, err
	}
	err = tx.QueryRowContext(ctx, backend).Scan(&second)
	return first == second, errors.Join(err, tx.Rollback())
}

// The literal is read when the statement is parsed, now() when it runs.
const twoStepSQL = "SELECT 'now'::timestamptz < now() AND $1::boolean"

// speaksTwoStep reports whether the driver lets statements be parsed in one step
// and run in a later one.
func speaksTwoStep(ctx context.Context, db *sql.DB) (twoStep bool, err error) {
	err = onConn(ctx, db, func(c *sql.Conn) error {
		return c.QueryRowContext(ctx, twoStepSQL, true).Scan(&twoStep)
	})
	if err != nil {
		err = fmt.Errorf("postgres: self-test: %w", err)
	}
	return twoStep, err
}

// classify says what an error of lib/pq, or of pgx through database/sql, means.
func classify(err error) sqltext.Class {
	if state, ok := sqlState(err); ok {
		return sqltext.OfState(state)
	}
	if errors.Is(err, pq.ErrInFailedTransaction) {
		return sqltext.Undone
	}
	if connectionLost(err) {
		return sqltext.Connection
	}
	return sqltext.Unknown
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
