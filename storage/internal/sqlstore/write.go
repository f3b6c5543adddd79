package sqlstore

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/belfry-go/belfry/storage/driver"
)

// Insert adds the rows whose scope and key are free, in the order of their keys,
// so that concurrent batches take their locks in one order.
func (x *tx) Insert(ctx context.Context, s *driver.Schema, rows []driver.Row) ([]bool, error) {
	added := make([]bool, len(rows))
	if len(rows) == 0 {
		return added, x.usable(ctx)
	}
	order := sorted(rows, byKey)
	var last *driver.Record
	at := 0 // rows come back in the order they were sent, or nearly so
	err := x.store.table(s).insert(ctx, x, pick(rows, order),
		func(id int64, scope driver.Scope, key string) error {
			for range rows {
				i := order[at]
				at = (at + 1) % len(order)
				rec := driver.RecordOf(rows[i])
				if !added[i] && rec.Key == key && rec.Scope == scope {
					x.changed(rec)
					added[i], rec.ID, last = true, id, rec
					if !s.Versioned {
						rec.Version = 1
					}
					x.hints.Add(s, rows[i:i+1])
					return nil
				}
			}
			return errForeignRow
		})
	if err != nil {
		return nil, x.fail(ctx, "insert into "+s.Name, err)
	}
	if last != nil {
		x.wrote(s, last)
	}
	return added, nil
}

func byKey(a, b driver.Row) int {
	ra, rb := driver.RecordOf(a), driver.RecordOf(b)
	return cmp.Or(cmp.Compare(ra.Scope, rb.Scope), cmp.Compare(ra.Key, rb.Key))
}

// sorted returns the indices of rows in an order; equal ones stay as they are.
func sorted(rows []driver.Row, order func(a, b driver.Row) int) []int {
	index := make([]int, len(rows))
	for i := range index {
		index[i] = i
	}
	slices.SortStableFunc(index, func(a, b int) int {
		return order(rows[a], rows[b])
	})
	return index
}

func pick(rows []driver.Row, index []int) []driver.Row {
	out := make([]driver.Row, len(index))
	for n, i := range index {
		out[n] = rows[i]
	}
	return out
}

// scanInserted reads the answer of an INSERT.
func scanInserted(done inserted) func(Rows) error {
	return func(r Rows) error {
		var id int64
		var scope driver.Scope
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

// Update writes the mutable columns of rows, ordered by id. Of a row given twice
// only the first is written.
func (x *tx) Update(ctx context.Context, s *driver.Schema, rows []driver.Row) ([]bool, error) {
	stale, err := x.change(ctx, "update ", s, changeUpdate, nil, rows)
	for i, r := range rows {
		if err == nil && !stale[i] {
			rec := driver.RecordOf(r)
			x.changed(rec)
			rec.Version++
			x.wrote(s, rec)
			x.hints.Add(s, rows[i:i+1])
		}
	}
	return stale, err
}

// Delete removes rows, ordered by id.
func (x *tx) Delete(ctx context.Context, s *driver.Schema, rows []driver.Row) ([]bool, error) {
	stale, err := x.change(ctx, "delete from ", s, changeDelete, nil, rows)
	for i, r := range rows {
		if err == nil && !stale[i] {
			x.deleted = append(x.deleted, driver.RecordOf(r).ID)
		}
	}
	return stale, err
}

// Extend moves leases and nothing else, neither the version nor the structs.
func (x *tx) Extend(ctx context.Context, s *driver.Schema, rows []driver.Row, until time.Time) ([]bool, error) {
	if x.joined {
		return nil, driver.ErrJoined
	}
	lead := []any{x.store.cfg.Dialect.value(driver.Time(until))}
	return x.change(ctx, "extend ", s, changeExtend, lead, rows)
}

func byVersion(a, b driver.Row) int {
	ra, rb := driver.RecordOf(a), driver.RecordOf(b)
	return cmp.Or(cmp.Compare(ra.ID, rb.ID), cmp.Compare(ra.Version, rb.Version))
}

func byToken(a, b driver.Row) int {
	da, db := driver.DueOf(a), driver.DueOf(b)
	return cmp.Or(cmp.Compare(da.ID, db.ID), cmp.Compare(da.ClaimToken, db.ClaimToken))
}

// change runs a statement for rows in an order that begins with the id, so that
// concurrent batches take their locks in one order, and tells which were missed. A
// row that is given twice is changed once: only Extend does not miss it the second time.
func (x *tx) change(ctx context.Context, verb string, s *driver.Schema, change changeKind, lead []any, rows []driver.Row) ([]bool, error) {
	missed := make([]bool, len(rows))
	if len(rows) == 0 {
		return missed, x.usable(ctx)
	}
	order := byVersion
	if change == changeExtend {
		order = byToken
	}
	index := sorted(rows, order)
	sent := make([]driver.Row, 0, len(rows))
	repeated := make([]bool, len(rows)) // equal to the one before, by order
	for n, i := range index {
		repeated[n] = n > 0 && order(rows[index[n-1]], rows[i]) == 0
		if !repeated[n] {
			sent = append(sent, rows[i])
		}
	}
	hits, err := x.store.table(s).change(ctx, x, change, lead, sent)
	if err != nil {
		return nil, x.fail(ctx, verb+s.Name, err)
	}
	place := -1
	for n, i := range index {
		if !repeated[n] {
			place++
		}
		missed[i] = !hits[place] || repeated[n] && change != changeExtend
	}
	return missed, nil
}
