package pgx

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/belfry-go/belfry/storage/internal/pgserver"
	"github.com/belfry-go/belfry/storage/internal/sqlstore"
	"github.com/belfry-go/belfry/storage/internal/sqltext"
)

// pool is a pool of pgx as the shared SQL takes it.
type pool struct {
	*pgxpool.Pool
	size int
	// oneStep sends statements whole, whatever the pool's own way is.
	oneStep atomic.Bool
	broken  func() // told when a connection was replaced
}

func newPool(p *pgxpool.Pool, broken func()) *pool {
	return &pool{Pool: p, size: int(p.Config().MaxConns), broken: broken}
}

// Size is how many connections there may be.
func (p *pool) Size() int { return p.size }

func (p *pool) Single() bool { return p.size == 1 }

// Conn takes a connection from the pool.
func (p *pool) Conn(ctx context.Context) (sqlstore.Conn, error) {
	held, err := p.Acquire(ctx)
	if err != nil {
		return nil, refused(err)
	}
	c := &conn{}
	c.take(p, held)
	return c, nil
}

// querier is a connection or a transaction of pgx.
type querier interface {
	Exec(ctx context.Context, text string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, text string, args ...any) (pgx.Rows, error)
}

// runner runs statements through pgx.
type runner struct {
	db   querier
	pool *pool
}

// Exec runs a text without arguments in one step anyway, and it may be several
// statements.
func (r runner) Exec(ctx context.Context, text string, args ...any) (int64, error) {
	if len(args) > 0 {
		args = r.way(args)
	}
	tag, err := r.db.Exec(ctx, text, args...)
	if err == nil && text == "COMMIT" && tag.String() == "ROLLBACK" {
		err = pgx.ErrTxCommitRollback
	}
	return tag.RowsAffected(), err
}

func (r runner) Query(ctx context.Context, text string, args []any, read func(sqlstore.Rows) error) error {
	rows, err := r.db.Query(ctx, text, r.way(args)...)
	return all(rows, err, read)
}

// all lets read take the rows of an answer.
func all(rows pgx.Rows, err error, read func(sqlstore.Rows) error) error {
	if err != nil {
		return err
	}
	defer rows.Close()
	if err := read(rows); err != nil {
		return err
	}
	return rows.Err()
}

func (r runner) way(args []any) []any {
	if !r.pool.oneStep.Load() {
		return args
	}
	return append([]any{pgx.QueryExecModeExec}, args...)
}

// conn is a connection while a transaction or a read has it.
type conn struct {
	runner
	held  *pgxpool.Conn
	doubt *atomic.Bool // see unsynced; nil on a host's pool
	begin string       // what opens a transaction, and goes with its first statement
}

func (c *conn) take(p *pool, held *pgxpool.Conn) {
	c.runner, c.held = runner{held.Conn(), p}, held
	c.doubt, _ = held.Conn().PgConn().CustomData()[unsynced].(*atomic.Bool)
	if c.doubt != nil {
		c.doubt.Store(false)
	}
}

// Release gives the connection back; pgx closes one that is not free, or closed.
func (c *conn) Release(broken bool) error {
	if broken {
		over, cancel := context.WithCancel(context.Background())
		cancel() // nobody waits for a silent network
		_ = c.held.Conn().Close(over)
	}
	c.held.Release()
	if c.doubt != nil && c.doubt.Load() {
		return errUnsynced
	}
	return nil
}

// hostTx is a transaction that a host holds.
type hostTx struct {
	runner
	tx pgx.Tx
}

func (h hostTx) Commit(ctx context.Context) error   { return h.tx.Commit(ctx) }
func (h hostTx) Rollback(ctx context.Context) error { return h.tx.Rollback(ctx) }

// unsynced is where a connection notes that the server gave up waiting for a standby.
const unsynced = "belfry.unsynced"

// errUnsynced is what a COMMIT comes to that did not wait for its standby.
var errUnsynced = errors.New("pgx: COMMIT stopped waiting for the synchronous standby: committed here, perhaps not there")

// notice sees each NOTICE and WARNING. That a COMMIT was cancelled while it waited for a
// synchronous standby comes as a warning and not as an error. It is told by the
// routine's name, since messages are translated.
func notice(c *pgconn.PgConn, n *pgconn.Notice) {
	if n.Routine != "SyncRepWaitForLSN" {
		return
	}
	if doubt, ok := c.CustomData()[unsynced].(*atomic.Bool); ok {
		doubt.Store(true)
	}
}

// classify says what an error of pgx means.
func classify(err error) sqltext.Class {
	if errors.Is(err, pgx.ErrTxCommitRollback) {
		return sqltext.Undone
	}
	return pgserver.Classify(err)
}
