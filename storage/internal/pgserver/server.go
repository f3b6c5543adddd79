// Package pgserver holds what the adapters for PostgreSQL share beside the SQL: what a
// server and the way to it must be like, its clock, hints between processes, and
// network connections whose calls end. It knows no driver.
package pgserver

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/internal/sqlstore"
)

// On runs f on one connection of pool, and again on another one if it broke, perhaps
// while it lay idle: nothing that f does may count.
func On(ctx context.Context, pool sqlstore.Pool, f func(sqlstore.Runner) error) error {
	for idle := pool.Size(); ; idle-- {
		err := onOnce(ctx, pool, f)
		if Classify(err) != sqlstore.Connection || ctx.Err() != nil || idle <= 0 {
			return err
		}
	}
}

func onOnce(ctx context.Context, pool sqlstore.Pool, f func(sqlstore.Runner) error) error {
	c, err := pool.Conn(ctx)
	if err != nil {
		return err
	}
	err = f(c)
	_ = c.Release(Classify(err) == sqlstore.Connection) // nothing was committed
	return err
}

// row reads the only row of an answer.
func row(ctx context.Context, c sqlstore.Runner, text string, args []any, dest ...any) error {
	return c.Query(ctx, text, args, func(r sqlstore.Rows) error {
		for r.Next() {
			if err := r.Scan(dest...); err != nil {
				return err
			}
		}
		return nil
	})
}

// SystemIdentifier is the number that initdb gave to the database cluster and
// its replicas; empty where the role may not ask for it.
func SystemIdentifier(ctx context.Context, pool sqlstore.Pool) (string, error) {
	var id string
	err := On(ctx, pool, func(c sqlstore.Runner) error {
		return row(ctx, c, "SELECT system_identifier::text FROM pg_control_system()", nil, &id)
	})
	if state, _ := sqlState(err); notAllowed(state) {
		return "", nil
	}
	return id, err
}

// serverTime looks at the server's clock. Waiting for a free connection does
// not count as part of the round trip.
func serverTime(pool sqlstore.Pool) source {
	return func(ctx context.Context, elapsed func() time.Duration) (r reading, err error) {
		err = On(ctx, pool, func(c sqlstore.Runner) error {
			r.sent = elapsed()
			err := row(ctx, c, "SELECT clock_timestamp()", nil, &r.server)
			r.received, r.server = elapsed(), r.server.UTC()
			return err
		})
		return r, err
	}
}

// ServerError says why a server, or the way to it, cannot be worked with, and
// what to change.
type ServerError struct {
	Problem string
	away    bool // it may pass: another server, or this one, becomes the primary
}

func (e *ServerError) Error() string { return "postgres: " + e.Problem }

// What refuses a server that takes no writes.
var (
	ErrReplica  = &ServerError{"the server is a replica (hot standby)", true}
	ErrReadOnly = &ServerError{"the session is read-only; unset default_transaction_read_only for this role, database or connection", true}
)

// NoPrimary says what to do about err, which is what all hosts of a connection string
// came to.
func NoPrimary(err error, hosts int) error {
	var refused *ServerError
	switch {
	case !errors.As(err, &refused):
		return err
	case hosts > 1:
		return &ServerError{fmt.Sprintf("none of the %d hosts in the connection string is a primary that takes writes now: %s", hosts, err), true}
	case refused == ErrReplica:
		return &ServerError{refused.Problem + "; connect to the primary, or list all hosts in the connection string with target_session_attrs=read-write", true}
	}
	return err
}

// oldest is the oldest major version of PostgreSQL that is supported.
const oldest = 14

// facts are what a server says about itself.
type facts struct {
	version  int // 150004 is 15.4
	standby  bool
	readOnly bool
	encoding string
}

const factsSQL = `SELECT current_setting('server_version_num')::int, pg_is_in_recovery(),
	current_setting('transaction_read_only') = 'on', current_setting('server_encoding')`

// Check refuses a server that cannot hold the contract, and a host's pool that sends
// statements in two steps through a transaction pooler. It says whether there is such a
// pooler.
func Check(ctx context.Context, pool sqlstore.Pool, own bool) (pooled bool, err error) {
	err = checkServer(ctx, pool)
	if err == nil {
		pooled, err = behindPooler(ctx, pool)
	}
	if err == nil && pooled && !own {
		err = checkSteps(ctx, pool)
	}
	switch {
	case Mislaid(err):
		return true, errTwoStep
	case err == nil || errors.As(err, new(*ServerError)):
		return pooled, err
	case Classify(err) == sqlstore.Connection:
		err = fmt.Errorf("%w: %w", driver.ErrUnavailable, err)
	}
	return false, fmt.Errorf("postgres: open: %w", err)
}

func checkServer(ctx context.Context, pool sqlstore.Pool) error {
	var f facts
	err := On(ctx, pool, func(c sqlstore.Runner) error {
		return row(ctx, c, factsSQL, nil, &f.version, &f.standby, &f.readOnly, &f.encoding)
	})
	if err != nil {
		return err
	}
	return f.check()
}

func (f facts) check() error {
	switch {
	case f.version/10000 < oldest:
		return &ServerError{fmt.Sprintf("the server is PostgreSQL %d; %d or newer is needed", f.version/10000, oldest), false}
	case f.standby:
		return NoPrimary(ErrReplica, 1)
	case f.readOnly:
		return ErrReadOnly
	case f.encoding != "UTF8":
		return &ServerError{fmt.Sprintf("the database's encoding is %s; create it with ENCODING 'UTF8'", f.encoding), false}
	}
	return nil
}

// errTwoStep refuses a host's pool that speaks in a way that its pooler breaks.
var errTwoStep = &ServerError{"the connection goes through a transaction pooler, and the driver sends statements in two steps, " +
	"between which another client's may be run instead; add to the connection string binary_parameters=yes for lib/pq, " +
	"default_query_exec_mode=exec for pgx", false}

// Mislaid reports whether a driver found a statement that it prepared on another
// backend than it thinks, which only a pooler brings about.
func Mislaid(err error) bool {
	state, _ := sqlState(err)
	return state == "26000" || // invalid_sql_statement_name: it was prepared elsewhere
		state == "42P05" // duplicate_prepared_statement: another connection has it here
}

// behindPooler reports whether a pooler lends one backend to several connections: a
// connection that is open and idle has the backend that another one then gets.
// With only one connection allowed, or a busy pooler, it may not find out.
func behindPooler(ctx context.Context, pool sqlstore.Pool) (shared bool, err error) {
	if pool.Single() {
		return false, nil
	}
	err = On(ctx, pool, func(idle sqlstore.Runner) error {
		return On(ctx, pool, func(busy sqlstore.Runner) (err error) {
			for attempt := 0; attempt < 3 && !shared && err == nil; attempt++ {
				shared, err = sameBackend(ctx, idle, busy)
			}
			return err
		})
	})
	return shared, err
}

func sameBackend(ctx context.Context, idle, busy sqlstore.Runner) (bool, error) {
	const backend = "SELECT pg_backend_pid()"
	var first, second int
	if err := row(ctx, idle, backend, nil, &first); err != nil {
		return false, err
	}
	if _, err := busy.Exec(ctx, "BEGIN"); err != nil {
		return false, err
	}
	err := row(ctx, busy, backend, nil, &second)
	_, end := busy.Exec(ctx, "ROLLBACK")
	return first == second, errors.Join(err, end)
}

// The literal is read when the statement is parsed, now() when it runs.
const twoStepSQL = "SELECT 'now'::timestamptz < now() AND $1::boolean"

// checkSteps refuses a driver that lets statements be parsed in one step and run in a
// later one.
func checkSteps(ctx context.Context, pool sqlstore.Pool) error {
	var two bool
	err := On(ctx, pool, func(c sqlstore.Runner) error { return row(ctx, c, twoStepSQL, []any{true}, &two) })
	if err == nil && two {
		return errTwoStep
	}
	return err
}

// Classify says what an error of lib/pq or pgx means, by itself or through database/sql.
func Classify(err error) sqlstore.Class {
	if state, ok := sqlState(err); ok {
		return sqlstore.OfState(state)
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
		sqldriver.ErrBadConn, sql.ErrConnDone, io.EOF, io.ErrUnexpectedEOF, io.ErrClosedPipe, net.ErrClosed,
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
