package sqlstore

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/belfry-go/belfry/storage/driver"
)

// DBTX is a host's open transaction: *sql.Tx, *sqlx.Tx, *sql.Conn, and what
// other libraries build on database/sql.
type DBTX interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Database is a Pool of database/sql.
type Database struct {
	*sql.DB
	watch Watch
	// turns are given in the order of asking, as many as the pool has connections:
	// database/sql serves waiters in no order, so that of ten who keep asking one may wait
	// for seconds. Nil: the pool has no bound.
	turns *semaphore.Weighted
}

// Watch is told the driver's connection (the argument of
// sql.Conn.Raw) before a transaction or a read uses it, with the context of
// the call: it may end a connection that ignores the context. The function it
// returns is called once, after COMMIT, ROLLBACK or the last row, and is told whether
// the connection is broken and will not be used again; its error turns a COMMIT that
// seemed to succeed into an unknown outcome.
type Watch func(ctx context.Context, driverConn any) (done func(broken bool) error)

// NewDatabase makes a Pool of db, which has its bound of connections by now. watch may be
// nil.
func NewDatabase(db *sql.DB, watch Watch) *Database {
	d := &Database{DB: db, watch: watch}
	if n := db.Stats().MaxOpenConnections; n > 0 {
		d.turns = semaphore.NewWeighted(int64(n))
	}
	return d
}

// Size is that of the pool.
func (d *Database) Size() int { return d.Stats().OpenConnections }

// Single says whether the pool has one connection at most.
func (d *Database) Single() bool { return d.Stats().MaxOpenConnections == 1 }

// Conn takes a connection from the pool in its turn, under the watch.
func (d *Database) Conn(ctx context.Context) (Conn, error) {
	next := func() {}
	if d.turns != nil {
		if err := d.turns.Acquire(ctx, 1); err != nil {
			return nil, err
		}
		next = sync.OnceFunc(func() { d.turns.Release(1) })
	}
	conn, err := d.DB.Conn(ctx)
	if err != nil {
		next()
		return nil, closed(err)
	}
	c := &sqlConn{over: over{conn}, conn: conn, done: func(bool) error { return nil }, next: next}
	if d.watch == nil {
		return c, nil
	}
	err = conn.Raw(func(raw any) error {
		c.done = d.watch(ctx, raw)
		return nil
	})
	if err != nil {
		return nil, errors.Join(err, c.Release(true))
	}
	return c, nil
}

// closed says of an error of a pool that the pool was closed, which database/sql has no
// value for.
func closed(err error) error {
	if err.Error() == "sql: database is closed" {
		return driver.ErrClosed
	}
	return err
}

// over runs statements through database/sql.
type over struct{ db DBTX }

func (o over) Exec(ctx context.Context, text string, args ...any) (int64, error) {
	res, err := o.db.ExecContext(ctx, text, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

func (o over) Query(ctx context.Context, text string, args []any, read func(Rows) error) error {
	rows, err := o.db.QueryContext(ctx, text, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	return errors.Join(read(rows), rows.Err())
}

// sqlConn is a connection of database/sql.
type sqlConn struct {
	over
	conn *sql.Conn
	done func(broken bool) error // the watch's answer
	next func()                  // gives the turn back
}

func (c *sqlConn) Release(broken bool) error {
	err := c.done(broken)
	if broken {
		_ = c.conn.Raw(func(any) error { return sqldriver.ErrBadConn })
	}
	_ = c.conn.Close()
	c.next()
	return err
}

// Raw gives f the driver's connection, on which a host's transaction may begin.
func (c *sqlConn) Raw(f func(driverConn any) error) error { return c.conn.Raw(f) }

// hostTx is a transaction of database/sql that a host holds.
type hostTx struct {
	over
	tx *sql.Tx
}

func (h hostTx) Commit(context.Context) error   { return h.tx.Commit() }
func (h hostTx) Rollback(context.Context) error { return h.tx.Rollback() }

// Join binds a host's open transaction. Claim and Extend return ErrJoined;
// [driver.ErrRetryTx] means that the host has to repeat its transaction. After
// an error, and when a context has ended inside a call, the host rolls back.
// Pollers hear of what was ensured with their next poll.
func (s *Store) Join(host DBTX) driver.Tx { return Join(s, over{host}) }

// InHostTx runs f in one transaction of the host and commits it when f returns nil: what
// f does with host, and what it ensures through bound (with the WithTx of a domain),
// commits together. It begins as the database needs it, and runs f again where InTx
// would, so f has no effects outside of the transaction. Behind the commit pollers hear
// of what became due. f neither commits nor rolls back. An unknown outcome is
// [driver.ErrOutcomeUnknown].
//
// f uses the context that it is given, for its own statements too: a call to this store
// with that context which is not bound is refused with [driver.ErrJoined]. With another
// context it cannot be told from a call beside the transaction: it commits on its own, or
// waits for the transaction until its context ends.
func (s *Store) InHostTx(ctx context.Context, f func(ctx context.Context, host *sql.Tx, bound driver.Tx) error) error {
	begin := func(ctx context.Context, c Conn) (hostTx, error) {
		// Its own context does not end it: whether it was committed would be luck.
		tx, err := c.(*sqlConn).conn.BeginTx(context.WithoutCancel(ctx), nil)
		return hostTx{over{tx}, tx}, err
	}
	return InHostTx(ctx, s, begin, func(ctx context.Context, host hostTx, bound driver.Tx) error { return f(ctx, host.tx, bound) })
}
