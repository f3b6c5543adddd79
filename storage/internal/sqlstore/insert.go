package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"slices"

	"github.com/belfry-go/belfry/storage"
)

// Insert adds the rows whose scope and key are free, in the order of their keys,
// so that concurrent batches take their locks in one order.
func (x *tx) Insert(ctx context.Context, s *storage.Schema, rows []storage.Row) ([]bool, error) {
	added := make([]bool, len(rows))
	if len(rows) == 0 {
		return added, x.usable(ctx)
	}
	order := sorted(rows, byKey)
	at := 0 // rows come back in the order they were sent, or nearly so
	err := x.store.cfg.Dialect.verbs.insert(ctx, x, x.store.table(s), pick(rows, order),
		func(id int64, scope storage.Scope, key string) error {
			for range rows {
				i := order[at]
				at = (at + 1) % len(order)
				rec := storage.RecordOf(rows[i])
				if !added[i] && rec.Key == key && rec.Scope == scope {
					x.changed(rec)
					added[i], rec.ID, rec.Version = true, id, 1
					x.hints.Add(s, rows[i:i+1])
					return nil
				}
			}
			return errForeignRow
		})
	if err != nil {
		return nil, x.fail(ctx, "insert into "+s.Name, err)
	}
	return added, nil
}

func byKey(a, b *storage.Record) int {
	return cmp.Or(cmp.Compare(a.Scope, b.Scope), cmp.Compare(a.Key, b.Key))
}

// sorted returns the indices of rows in an order; equal ones stay as they are.
func sorted(rows []storage.Row, order func(a, b *storage.Record) int) []int {
	index := make([]int, len(rows))
	for i := range index {
		index[i] = i
	}
	slices.SortStableFunc(index, func(a, b int) int {
		return order(storage.RecordOf(rows[a]), storage.RecordOf(rows[b]))
	})
	return index
}

func pick(rows []storage.Row, index []int) []storage.Row {
	out := make([]storage.Row, len(index))
	for n, i := range index {
		out[n] = rows[i]
	}
	return out
}

// scanInserted reads the answer of an INSERT.
func scanInserted(done inserted) func(*sql.Rows) error {
	return func(r *sql.Rows) error {
		var id int64
		var scope storage.Scope
		var key string
		for r.Next() {
			if err := r.Scan(&id, &scope, &key); err != nil {
				return err
			}
			if err := done(id, scope, key); err != nil {
				return err
			}
		}
		return nil
	}
}
