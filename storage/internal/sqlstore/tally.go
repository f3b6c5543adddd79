package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/belfry-go/belfry/storage"
)

// Tally counts rows of scope by kind, but reads no more than q.Limit of them.
func (x *tx) Tally(ctx context.Context, s *storage.Schema, scope storage.Scope, q storage.Tally) (groups []storage.Group, err error) {
	if q.Limit <= 0 {
		return nil, x.usable(ctx)
	}
	t := x.store.table(s)
	text, args, columns, err := t.tally(scope, q)
	if err == nil {
		err = x.query(ctx, text, args, func(r *sql.Rows) (err error) {
			groups, err = readGroups(s, columns, r)
			return err
		})
	}
	if err != nil {
		return nil, x.fail(ctx, "tally of "+s.Name, err)
	}
	return groups, nil
}

// tally is the statement, and the columns that it answers with before the count.
func (t *table) tally(scope storage.Scope, q storage.Tally) (text string, args []any, columns []*storage.Column, err error) {
	by := make([]string, len(q.By))
	for i, name := range q.By {
		column := t.schema.Column(name)
		if column.Kind == storage.JSON || column.Kind == storage.Bytes {
			return "", nil, nil, fmt.Errorf("%s has no kinds", name)
		}
		by[i], columns = quote(name), append(columns, column)
	}
	order := t.schema.Column(q.OrderBy)
	b := newBuilder(t, "")
	name, err := b.ordered(order)
	if err == nil && order.Kind == storage.Bool {
		err = fmt.Errorf("%s has no lowest value", q.OrderBy)
	}
	if err != nil {
		return "", nil, nil, err
	}
	inner, outer := slices.Clone(by), slices.Clone(by)
	if !slices.Contains(q.By, q.OrderBy) {
		inner, outer, columns = append(inner, quote(q.OrderBy)), append(outer, "min("+name+")"), append(columns, order)
	}
	b.write("SELECT " + strings.Join(append(outer, "count(*)"), ", ") + " FROM (SELECT " + strings.Join(inner, ", ") + " FROM " + t.name + " WHERE ")
	if err := b.where(scope, q.Where); err != nil {
		return "", nil, nil, err
	}
	if order.Null && !excludesNull(q.Where, q.OrderBy) {
		b.write(" AND " + quote(q.OrderBy) + " IS NOT NULL")
	}
	b.write(" ORDER BY "+name+" LIMIT ?) AS c", int64(q.Limit))
	if len(by) > 0 {
		b.write(" GROUP BY " + strings.Join(by, ", "))
	}
	return b.sql(), b.args, columns, nil
}

// readGroups reads rows that end with a count; nothing counted is no group.
func readGroups(s *storage.Schema, columns []*storage.Column, rows *sql.Rows) ([]storage.Group, error) {
	r := newReader(s, columns)
	var n int
	dest := append(slices.Clone(r.dest), &n)
	var out []storage.Group
	for rows.Next() {
		row := s.New()
		fields := storage.FieldsOf(row)
		for i := range r.cells {
			r.cells[i].fields = fields
		}
		if err := rows.Scan(dest...); err != nil {
			return nil, err
		}
		if n > 0 {
			out = append(out, storage.Group{Row: row, N: n})
		}
	}
	return out, nil
}
