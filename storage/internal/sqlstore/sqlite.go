package sqlstore

import (
	"context"

	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/internal/sqltext"
)

// sqlite runs the statements of a table of SQLite.
type sqlite struct{ *sqltext.SQLiteTable }

func newSQLite(n sqltext.Names, s *driver.Schema) table {
	return sqlite{sqltext.NewSQLiteTable(n, s)}
}

func (t sqlite) text() *sqltext.Table { return &t.Table }

func (t sqlite) insert(ctx context.Context, x *tx, rows []driver.Row, done inserted) (err error) {
	for len(rows) > 0 {
		var s sqltext.Statement
		if s, rows, err = t.Insert(rows); err != nil {
			return err
		}
		if err := x.query(ctx, s, scanInserted(done)); err != nil {
			return err
		}
	}
	return nil
}

func (t sqlite) change(ctx context.Context, x *tx, change sqltext.Change, lead []any, rows []driver.Row) ([]bool, error) {
	hits := make([]bool, len(rows))
	one := t.Change(change, rows)
	args := make([]any, 0, len(lead)+one.Params())
	var last int64 // hit: of a row given twice only the first is written
	err := x.each(ctx, one.Text, func(exec func([]any) (int64, error)) error {
		for i, r := range rows {
			id := driver.RecordOf(r).ID
			if id == last {
				continue
			}
			args, err := one.Args(append(args[:0], lead...), r)
			if err != nil {
				return err
			}
			n, err := exec(args)
			if err != nil {
				return err
			}
			if n == 1 {
				hits[i], last = true, id
			}
		}
		return nil
	})
	return hits, err
}

// claim finds the rows of each lane and marks them.
func (t sqlite) claim(ctx context.Context, x *tx, c *driver.Claim) (rows []driver.Row, err error) {
	for _, l := range c.Lanes {
		s, columns := t.Due(l, c)
		found, err := x.rows(ctx, s, t.Schema(), columns)
		if err == nil {
			err = t.hold(ctx, x, c, found)
		}
		if err != nil {
			return nil, err
		}
		rows = append(rows, found...)
	}
	return rows, nil
}

// hold claims rows that were found.
func (t sqlite) hold(ctx context.Context, x *tx, c *driver.Claim, rows []driver.Row) error {
	if len(rows) == 0 {
		return nil
	}
	ids := make([]int64, len(rows))
	for i, r := range rows {
		due := driver.DueOf(r)
		ids[i] = due.ID
		due.Version++
		due.Abandoned = !due.LeaseExpiresOn.IsZero()
		if c.Busy != "" {
			due.Status = c.Busy
		}
	}
	_, err := x.exec(ctx, t.Hold(c, ids))
	return err
}

func (t sqlite) next(c *driver.Claim) sqltext.Statement { return t.Next(c) }
