package sqlstore

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"

	"github.com/belfry-go/belfry/storage/driver"
)

var (
	errOver       = errors.New("storage: the transaction is over")
	errForeignRow = errors.New("the database answered with a row that was not asked about")
)

// tx is one transaction, the store's own or a host's.
type tx struct {
	store  *Store
	db     Runner
	joined bool
	again  bool            // a run before it came to nothing
	err    error           // set once a verb failed or the transaction is over
	life   context.Context // of a view; nil: a transaction's is that of its calls
	hints  driver.Hints
	before []mark
	// last is a row that it wrote, deleted are ids of rows of any tables: see memory.
	last    witness
	deleted []int64
}

// mark is what a struct said before a verb changed it.
type mark struct {
	record      *driver.Record
	id, version int64
}

// changed notes a struct that is about to be given its new id or version.
func (x *tx) changed(r *driver.Record) {
	x.before = append(x.before, mark{r, r.ID, r.Version})
}

// restore makes the structs what they were before a transaction that did not
// happen. With the versions that it raised, the same rows saved by a second run
// would count as stale, or pass for those of a writer in between.
func (x *tx) restore() {
	for i := len(x.before) - 1; i >= 0; i-- {
		m := x.before[i]
		m.record.ID, m.record.Version = m.id, m.version
	}
}

var _ driver.Tx = (*tx)(nil)

// Join binds a host's open transaction to s.
func Join(s *Store, host Runner) driver.Tx {
	return &tx{store: s, db: host, joined: true}
}

// Store is the store that the transaction belongs to.
func (x *tx) Store() driver.Store { return x.store.cfg.Outer }

// usable refuses a transaction that has failed or is over, or whose context has
// ended: SQLite would begin the next statement outside of it.
func (x *tx) usable(ctx context.Context) error {
	if x.err != nil {
		return x.err
	}
	if err := ctx.Err(); err != nil {
		return x.fail(ctx, "transaction", err)
	}
	if x.life != nil && x.life.Err() != nil {
		return x.fail(ctx, "view", fmt.Errorf("open for %s: %w", x.store.cfg.ViewTime, x.life.Err()))
	}
	return nil
}

// fail ends the transaction with its first error.
func (x *tx) fail(ctx context.Context, op string, err error) error {
	if x.err != nil {
		return x.err
	}
	f := x.store.failed(ctx, op, err)
	if x.joined && f.class == Serialization {
		f.means = driver.ErrRetryTx
	}
	x.err = f
	return f
}

// query runs a statement and lets read take its rows.
func (x *tx) query(ctx context.Context, q statement, read func(Rows) error) error {
	if err := x.usable(ctx); err != nil {
		return err
	}
	return x.db.Query(x.store.inside(ctx), q.text, q.args, read)
}

// exec runs a statement and tells how many rows it changed.
func (x *tx) exec(ctx context.Context, q statement) (int64, error) {
	if err := x.usable(ctx); err != nil {
		return 0, err
	}
	return x.db.Exec(x.store.inside(ctx), q.text, q.args...)
}

// inside is the context for a statement of a transaction.
func (s *Store) inside(ctx context.Context) context.Context {
	if s.cfg.Dialect.detached {
		return context.WithoutCancel(ctx)
	}
	return ctx
}

// each lets run execute a statement for each of many rows: exec tells how many
// rows it changed, and takes values of the driver only. In a transaction of the
// store's own it speaks to the driver itself: where the database is in the
// process, what database/sql does about a statement costs a quarter of it.
func (x *tx) each(ctx context.Context, text string, run func(exec func(args []any) (int64, error)) error) error {
	own, ok := ownConn(x.db)
	if !ok {
		return run(func(args []any) (int64, error) { return x.exec(ctx, statement{text, args}) })
	}
	return own.Raw(func(c any) (err error) {
		var stmt sqldriver.Stmt // a driver may have no cache of statements
		defer func() {
			if stmt != nil {
				err = errors.Join(err, stmt.Close())
			}
		}()
		var named []sqldriver.NamedValue
		return run(func(args []any) (int64, error) {
			if err := x.usable(ctx); err != nil {
				return 0, err
			}
			named = named[:0]
			for i, v := range args {
				named = append(named, sqldriver.NamedValue{Ordinal: i + 1, Value: v})
			}
			if stmt == nil {
				if stmt, err = c.(sqldriver.ConnPrepareContext).PrepareContext(x.store.inside(ctx), text); err != nil {
					return 0, err
				}
			}
			res, err := stmt.(sqldriver.StmtExecContext).ExecContext(x.store.inside(ctx), named)
			if err != nil {
				return 0, err
			}
			return res.RowsAffected()
		})
	})
}

// ownConn is the connection of a transaction of the store's own, if it is one of
// database/sql.
func ownConn(db Runner) (*sql.Conn, bool) {
	own, ok := db.(*session)
	if !ok {
		return nil, false
	}
	c, ok := own.Conn.(*sqlConn)
	if !ok {
		return nil, false
	}
	return c.conn, true
}
