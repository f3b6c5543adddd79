package sqlstore

import (
	"context"
	"database/sql/driver"
)

// each lets run execute a statement for each of many rows: exec tells how many
// rows it changed, and takes values of the driver only. In a transaction of the
// store's own it speaks to the driver itself: where the database is in the
// process, what database/sql does about a statement costs a quarter of it.
func (x *tx) each(ctx context.Context, text string, run func(exec func(args []any) (int64, error)) error) error {
	own, ok := x.db.(*session)
	if !ok {
		return run(func(args []any) (int64, error) { return x.exec(ctx, text, args) })
	}
	return own.Raw(func(c any) error {
		var named []driver.NamedValue
		return run(func(args []any) (int64, error) {
			if err := x.usable(ctx); err != nil {
				return 0, err
			}
			named = named[:0]
			for i, v := range args {
				named = append(named, driver.NamedValue{Ordinal: i + 1, Value: v})
			}
			res, err := c.(driver.ExecerContext).ExecContext(x.store.inside(ctx), text, named)
			if err != nil {
				return 0, err
			}
			return res.RowsAffected()
		})
	})
}
