package sqlstore

import (
	"context"

	"github.com/belfry-go/belfry/storage/driver"
)

// Select returns the rows within reach that q describes.
func (x *tx) Select(ctx context.Context, s *driver.Schema, reach driver.ScopeFilter, q driver.Query) (rows []driver.Row, err error) {
	if q.Limit <= 0 {
		return nil, x.usable(ctx)
	}
	text, columns, err := x.store.table(s).text().selectText(reach, q)
	if err == nil {
		rows, err = x.rows(ctx, text, s, columns)
	}
	if err != nil {
		return nil, x.fail(ctx, "select from "+s.Name, err)
	}
	return rows, nil
}

// Get returns the rows at places.
func (x *tx) Get(ctx context.Context, s *driver.Schema, places []driver.ScopedKey, columns []string) (rows []driver.Row, err error) {
	if len(places) == 0 {
		return nil, x.usable(ctx)
	}
	text, read, err := x.store.table(s).text().getText(places, columns)
	if err == nil {
		rows, err = x.rows(ctx, text, s, read)
	}
	if err != nil {
		return nil, x.fail(ctx, "get from "+s.Name, err)
	}
	return rows, nil
}

// Count counts rows within reach, but reads no more than limit of them.
func (x *tx) Count(ctx context.Context, s *driver.Schema, reach driver.ScopeFilter, where []driver.Cond, limit int) (n int, err error) {
	if limit <= 0 {
		return 0, x.usable(ctx)
	}
	text, err := x.store.table(s).text().countText(reach, where, limit)
	if err == nil {
		err = x.query(ctx, text, func(r Rows) error {
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

// HasChildren tells the numbers of places under which there is a row.
func (x *tx) HasChildren(ctx context.Context, s *driver.Schema, places []driver.ScopedKey, where []driver.Cond) (found []int, err error) {
	if len(places) == 0 {
		return nil, x.usable(ctx)
	}
	text, err := x.store.table(s).text().underText(places, where)
	if err == nil {
		err = x.query(ctx, text, func(r Rows) error {
			for r.Next() {
				var n int
				if err := r.Scan(&n); err != nil {
					return err
				}
				found = append(found, n)
			}
			return nil
		})
	}
	if err != nil {
		return nil, x.fail(ctx, "look under places of "+s.Name, err)
	}
	return found, nil
}

// CountBy counts rows within reach by kind, but reads no more than q.Limit of them.
func (x *tx) CountBy(ctx context.Context, s *driver.Schema, reach driver.ScopeFilter, q driver.CountBy) (groups []driver.Group, err error) {
	if q.Limit <= 0 {
		return nil, x.usable(ctx)
	}
	text, columns, err := x.store.table(s).text().tallyText(reach, q)
	if err == nil {
		err = x.query(ctx, text, func(r Rows) (err error) {
			groups, err = readGroups(s, columns, r)
			return err
		})
	}
	if err != nil {
		return nil, x.fail(ctx, "tally of "+s.Name, err)
	}
	return groups, nil
}
