package sqlstore

import (
	"cmp"
	"context"
	"time"

	"github.com/belfry-go/belfry/storage"
)

// Update writes the mutable columns of rows, ordered by id. Of a row given twice
// only the first is written.
func (x *tx) Update(ctx context.Context, s *storage.Schema, rows []storage.Row) ([]bool, error) {
	stale, err := x.swap(ctx, "update ", s, &x.store.table(s).update, nil, rows, byVersion)
	for i, r := range rows {
		if err == nil && !stale[i] {
			rec := storage.RecordOf(r)
			x.changed(rec)
			rec.Version++
			x.hints.Add(s, rows[i:i+1])
		}
	}
	return stale, err
}

// Delete removes rows, ordered by id.
func (x *tx) Delete(ctx context.Context, s *storage.Schema, rows []storage.Row) ([]bool, error) {
	return x.swap(ctx, "delete from ", s, &x.store.table(s).remove, nil, rows, byVersion)
}

// Extend moves leases and nothing else, neither the version nor the structs.
func (x *tx) Extend(ctx context.Context, s *storage.Schema, rows []storage.Row, until time.Time) ([]bool, error) {
	if x.joined {
		return nil, storage.ErrJoined
	}
	lead := []any{x.store.cfg.Dialect.verbs.value(storage.Time(until))}
	return x.swap(ctx, "extend ", s, &x.store.table(s).extend, lead, rows, byToken)
}

func byVersion(a, b *storage.Record) int {
	return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Version, b.Version))
}

func byToken(a, b *storage.Record) int {
	return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.ClaimToken, b.ClaimToken))
}

// swap runs a statement for rows in an order that begins with the id, so that
// concurrent batches take their locks in one order, and tells which were missed.
func (x *tx) swap(ctx context.Context, verb string, s *storage.Schema, w *swap, lead []any, rows []storage.Row,
	order func(a, b *storage.Record) int) ([]bool, error) {
	missed := make([]bool, len(rows))
	if len(rows) == 0 {
		return missed, x.usable(ctx)
	}
	index := sorted(rows, order)
	sent := make([]storage.Row, 0, len(rows))
	repeated := make([]bool, len(rows)) // equal to the one before, by order
	for n, i := range index {
		repeated[n] = n > 0 && order(storage.RecordOf(rows[index[n-1]]), storage.RecordOf(rows[i])) == 0
		if !repeated[n] {
			sent = append(sent, rows[i])
		}
	}
	hits, err := x.store.cfg.Dialect.verbs.swap(ctx, x, w, lead, sent)
	if err != nil {
		return nil, x.fail(ctx, verb+s.Name, err)
	}
	place := -1
	for n, i := range index {
		if !repeated[n] {
			place++
		}
		missed[i] = !hits[place] || repeated[n] && w.once
	}
	return missed, nil
}
