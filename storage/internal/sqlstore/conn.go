package sqlstore

import "context"

// Runner runs statements: on a connection, or in the open transaction of a host.
type Runner interface {
	// Exec runs a statement and tells how many rows it changed.
	Exec(ctx context.Context, text string, args ...any) (changed int64, err error)
	// Query runs a statement and lets read take its rows, which it need not close.
	Query(ctx context.Context, text string, args []any, read func(Rows) error) error
}

// Rows is an answer, as of *sql.Rows. Scan takes what that one takes, a sql.Scanner
// included.
type Rows interface {
	Next() bool
	Scan(dest ...any) error
}

// Conn is a connection of a pool while a transaction or a read has it.
type Conn interface {
	Runner
	// Release gives the connection back, or closes it if it is broken. Its error
	// says that a COMMIT which seemed to succeed is in doubt.
	Release(broken bool) error
}

// HostTx is an open transaction that a host holds.
type HostTx interface {
	Runner
	Commit(ctx context.Context) error
	Rollback(ctx context.Context) error
}

// Pool is how an adapter reaches its database. Its methods may be called from any
// number of goroutines.
type Pool interface {
	// Conn waits for a connection. It may end one that ignores ctx. A pool that was
	// closed is [driver.ErrClosed].
	Conn(ctx context.Context) (Conn, error)
	// Size is how many connections are open, and so how many may have broken while
	// they lay idle.
	Size() int
	// Single says that there is never more than one.
	Single() bool
}
