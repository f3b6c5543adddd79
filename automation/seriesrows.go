package automation

import (
	"context"

	"github.com/belfry-go/belfry/storage"
)

func findSeries[V any](ctx context.Context, tx storage.Tx, scope Scope, byKey map[string]V) ([]*series, error) {
	keys := make([]string, 0, len(byKey))
	for key := range byKey {
		keys = append(keys, key)
	}
	return seriesTable.Find(ctx, tx, scope, storage.Query{Where: []storage.Cond{storage.In("key", keys)}, Limit: len(keys)})
}

// runs reports whether a row is on its way: due some day, or held by a worker.
func runs(r *Schedule) bool { return r.IsOpen() && !r.IsOnSupportHold }

// currentRows gives the rows of current occurrences, by the id of the series.
func currentRows(ctx context.Context, tx storage.Tx, got []storage.Ensured[series]) (map[int64]*Schedule, error) {
	var stored []*series
	for _, g := range got {
		if g.Outcome != storage.Created {
			stored = append(stored, g.Row)
		}
	}
	return occurrencesOf(ctx, tx, stored)
}

// occurrencesOf gives the rows of current occurrences, by the id of the series: one
// statement for each scope.
func occurrencesOf(ctx context.Context, tx storage.Tx, stored []*series) (map[int64]*Schedule, error) {
	places := map[Scope]map[string]int{}
	ids := map[Scope]map[string]int64{}
	for i, d := range stored {
		if d.NextOn.IsZero() {
			continue
		}
		key, err := d.key(d.NextOn)
		if err != nil {
			return nil, err
		}
		if places[d.Scope] == nil {
			places[d.Scope], ids[d.Scope] = map[string]int{}, map[string]int64{}
		}
		places[d.Scope][key], ids[d.Scope][key] = i, d.ID
	}
	out := map[int64]*Schedule{}
	for scope, keys := range places {
		found, err := findKeys(ctx, tx, scope, keys)
		if err != nil {
			return nil, err
		}
		for _, row := range found {
			out[ids[scope][row.Key]] = row
		}
	}
	return out, nil
}
