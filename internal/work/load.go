package work

import (
	"context"

	"github.com/belfry-go/belfry/storage"
)

// load reads rows again by id. The ids come from rows that this process holds,
// so the look-up goes across scopes.
func load[R any](ctx context.Context, tx storage.Tx, t *storage.Table[R], rows []*R) (map[int64]*R, error) {
	ids := make([]int64, len(rows))
	for i, row := range rows {
		ids[i] = t.Record(row).ID
	}
	found, err := t.Find(ctx, tx, storage.AnyScope, storage.Query{Where: []storage.Cond{storage.In("id", ids)}, Limit: len(ids)})
	if err != nil {
		return nil, err
	}
	stored := make(map[int64]*R, len(found))
	for _, row := range found {
		stored[t.Record(row).ID] = row
	}
	return stored, nil
}
