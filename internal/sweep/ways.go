package sweep

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// Way reads the next rows behind an id, and says where to go on; zero: it is over.
type Way[R any] func(ctx context.Context, from driver.Reader, after int64) (rows []*R, next int64, err error)

// By finds rows of a scope by conditions that an index answers.
func By[R any](t *driver.Table[R], scope storage.Scope, conds ...driver.Cond) Way[R] {
	return func(ctx context.Context, from driver.Reader, after int64) ([]*R, int64, error) {
		where := append(append([]driver.Cond{}, conds...), driver.Greater("id", after))
		rows, err := t.Find(ctx, from, scope, driver.Query{Where: where, Limit: page})
		if err != nil || len(rows) < page {
			return rows, 0, err
		}
		return rows, t.Record(rows[len(rows)-1]).ID, nil
	}
}

// Among finds the rows of a scope for which one of several lists of conditions holds; the
// lists are looked up for each page, and no row is in two of them.
func Among[R any](t *driver.Table[R], scope storage.Scope, lists func(context.Context, driver.Reader) ([][]driver.Cond, error)) Way[R] {
	return func(ctx context.Context, from driver.Reader, after int64) (rows []*R, next int64, err error) {
		all, err := lists(ctx, from)
		if err != nil {
			return nil, 0, err
		}
		for _, conds := range all {
			some, _, err := By(t, scope, conds...)(ctx, from, after)
			if err != nil {
				return nil, 0, err
			}
			rows = append(rows, some...)
		}
		slices.SortFunc(rows, func(a, b *R) int { return cmp.Compare(t.Record(a).ID, t.Record(b).ID) })
		if len(rows) < page {
			return rows, 0, nil
		}
		rows = rows[:page]
		return rows, t.Record(rows[page-1]).ID, nil
	}
}

// There finds the rows at places.
func There[R any](t *driver.Table[R], places ...driver.ScopedKey) Way[R] {
	return func(ctx context.Context, from driver.Reader, _ int64) ([]*R, int64, error) {
		found, err := t.GetMany(ctx, from, places)
		return values(t, found), 0, err
	}
}

// values are rows in the order of their ids, so that two looks write in one order.
func values[R any](t *driver.Table[R], found map[driver.ScopedKey]*R) []*R {
	return slices.SortedFunc(maps.Values(found), func(a, b *R) int { return cmp.Compare(t.Record(a).ID, t.Record(b).ID) })
}

// Via finds rows by those of another table that lead to them.
func Via[P, R any](way Way[P], t *driver.Table[R], places func(*P) []driver.ScopedKey) Way[R] {
	return func(ctx context.Context, from driver.Reader, after int64) ([]*R, int64, error) {
		parents, next, err := way(ctx, from, after)
		if err != nil {
			return nil, 0, err
		}
		var wanted []driver.ScopedKey
		for _, p := range parents {
			wanted = append(wanted, places(p)...)
		}
		found, err := t.GetMany(ctx, from, wanted)
		return values(t, found), next, err
	}
}
