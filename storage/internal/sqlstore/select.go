package sqlstore

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/belfry-go/belfry/storage"
)

// Select returns the rows of scope that q describes.
func (x *tx) Select(ctx context.Context, s *storage.Schema, scope storage.Scope, q storage.Query) (rows []storage.Row, err error) {
	if q.Limit <= 0 {
		return nil, x.usable(ctx)
	}
	t := x.store.table(s)
	columns, names := t.read(q.Columns)
	b := newBuilder(t, "SELECT "+names+" FROM "+t.name+" WHERE ")
	err = b.where(scope, q.Where)
	if err == nil {
		err = b.order(&q)
	}
	if err == nil {
		b.write(" LIMIT ?", int64(q.Limit))
		rows, err = x.rows(ctx, b.sql(), b.args, t, columns)
	}
	if err != nil {
		return nil, x.fail(ctx, "select from "+s.Name, err)
	}
	return rows, nil
}

// Count counts rows of scope, but reads no more than limit of them.
func (x *tx) Count(ctx context.Context, s *storage.Schema, scope storage.Scope, where []storage.Cond, limit int) (n int, err error) {
	if limit <= 0 {
		return 0, x.usable(ctx)
	}
	t := x.store.table(s)
	b := newBuilder(t, "SELECT count(*) FROM (SELECT 1 FROM "+t.name+" WHERE ")
	if err = b.where(scope, where); err == nil {
		b.write(" LIMIT ?) AS c", int64(limit))
		err = x.query(ctx, b.sql(), b.args, func(r *sql.Rows) error {
			for r.Next() {
				if err := r.Scan(&n); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err != nil {
		return 0, x.fail(ctx, "count of "+s.Name, err)
	}
	return n, nil
}

// order writes the place behind which to go on, and the order.
func (b *builder) order(q *storage.Query) error {
	direction, comparison := "", ">"
	if q.Desc {
		direction, comparison = " DESC", "<"
	}
	if q.OrderBy == "" {
		if q.After != nil {
			b.write(` AND "id" `+comparison+" ?", q.After.ID)
		}
		if !q.Unordered {
			b.write(` ORDER BY "id"` + direction)
		}
		return nil
	}
	column := b.schema.Column(q.OrderBy)
	name, err := b.ordered(column)
	if err != nil {
		return err
	}
	nulls := column.Null && !excludesNull(q.Where, q.OrderBy)
	if q.After != nil {
		if err := b.behind(q, column, comparison, nulls && q.Desc); err != nil {
			return err
		}
		nulls = nulls && q.Desc
	}
	b.write(" ORDER BY " + name + direction + b.nulls(nulls, q.Desc) + `, "id"` + direction)
	return nil
}

// behind writes the condition of keyset paging.
func (b *builder) behind(q *storage.Query, c *storage.Column, comparison string, orNull bool) error {
	value := storage.Eq(c.Name, q.After.Value).Value // canonical
	if err := b.fits(c, value); err != nil {
		return fmt.Errorf("page: %w", err)
	}
	name, _ := b.ordered(c)
	cond := "(" + name + `, "id") ` + comparison + " (?, ?)"
	if orNull {
		cond = "(" + cond + " OR " + name + " IS NULL)"
	}
	b.write(" AND "+cond, b.value(value), q.After.ID)
	return nil
}

// nulls writes where NULLs go, if there can be any: named without need, it would
// keep PostgreSQL from using an index for the order.
func (b *builder) nulls(possible, desc bool) string {
	switch {
	case !possible:
		return ""
	case desc:
		return b.dialect.nullsLast
	}
	return b.dialect.nullsFirst
}

// excludesNull reports whether one of the conditions is false for NULL.
func excludesNull(where []storage.Cond, column string) bool {
	for _, c := range where {
		if c.Column == column && c.Op != storage.OpNull && c.Op != storage.OpAny {
			return true
		}
	}
	return false
}
