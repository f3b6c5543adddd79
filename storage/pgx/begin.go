package pgx

import (
	"context"
	"errors"
	"net"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/belfry-go/belfry/storage/internal/pgserver"
	"github.com/belfry-go/belfry/storage/internal/sqlstore"
	"github.com/belfry-go/belfry/storage/internal/sqltext"
)

// Defer keeps what opens a transaction, if statements are prepared: pgx sends others
// one by one.
func (c *conn) Defer(text string) bool {
	if c.pool.oneStep.Load() || c.held.Conn().Config().DefaultQueryExecMode != pgx.QueryExecModeCacheStatement {
		return false
	}
	c.begin = text
	return true
}

// Exec begins the transaction if that has not happened.
func (c *conn) Exec(ctx context.Context, text string, args ...any) (changed int64, err error) {
	switch {
	case c.begin == "":
		return c.runner.Exec(ctx, text, args...)
	case text == "COMMIT" || text == "ROLLBACK":
		c.begin = ""
		return 0, nil
	case len(args) == 0: // which may be several statements
		err = c.first(ctx, func() (bool, error) {
			_, err := c.runner.Exec(ctx, c.begin)
			return err == nil, err
		})
		if err != nil {
			return 0, err
		}
		return c.runner.Exec(ctx, text)
	}
	err = c.first(ctx, func() (bool, error) {
		return c.batch(ctx, text, args, func(r pgx.BatchResults) error {
			tag, err := r.Exec()
			changed = tag.RowsAffected()
			return err
		})
	})
	return changed, err
}

// Query begins the transaction if that has not happened.
func (c *conn) Query(ctx context.Context, text string, args []any, read func(sqlstore.Rows) error) error {
	if c.begin == "" {
		return c.runner.Query(ctx, text, args, read)
	}
	return c.first(ctx, func() (bool, error) {
		return c.batch(ctx, text, args, func(r pgx.BatchResults) error {
			rows, err := r.Query()
			return all(rows, err, read)
		})
	})
}

// first begins a transaction, on another connection if one broke while it lay idle:
// nothing was answered yet, so nothing counts.
func (c *conn) first(ctx context.Context, send func() (begun bool, err error)) error {
	for idle := c.pool.Size(); ; idle-- {
		begun, err := send()
		if begun || err == nil || !broke(err) || ctx.Err() != nil || idle <= 0 {
			c.begin = ""
			return err
		}
		c.pool.broken()
		_ = c.Release(true)
		held, err := c.pool.Acquire(ctx)
		if err != nil {
			return refused(err)
		}
		c.take(c.pool, held)
	}
}

// broke says that a connection was found broken, and not that it went silent.
func broke(err error) bool {
	var n net.Error
	silent := errors.As(err, &n) && n.Timeout()
	return !silent && pgserver.Classify(err) == sqltext.Connection
}

// batch sends what begins the transaction and a statement in one round trip, and says
// whether the first was answered.
func (c *conn) batch(ctx context.Context, text string, args []any, read func(pgx.BatchResults) error) (begun bool, err error) {
	b := &pgx.Batch{}
	opening := strings.Split(c.begin, "; ")
	for _, o := range opening {
		b.Queue(o)
	}
	b.Queue(text, args...)
	r := c.held.SendBatch(ctx, b)
	for range opening {
		if _, err = r.Exec(); err != nil {
			break
		}
		begun = true
	}
	if err == nil {
		err = read(r)
	}
	if end := r.Close(); err == nil {
		err = end
	}
	return begun, err
}
