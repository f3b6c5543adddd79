package notify

import (
	"context"

	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage"
)

// loadPlaces reads rows by scope and key, one statement for each scope.
func loadPlaces[R any](ctx context.Context, tx storage.Tx, t *storage.Table[R], places []place) (map[place]*R, error) {
	byScope := map[Scope][]string{}
	for _, p := range places {
		byScope[p.scope] = append(byScope[p.scope], p.key)
	}
	found := make(map[place]*R, len(places))
	for scope, wanted := range byScope {
		rows, err := t.Find(ctx, tx, scope, storage.Query{Where: []storage.Cond{storage.In("key", wanted)}, Unordered: true, Limit: len(wanted)})
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			rec := t.Record(r)
			found[place{rec.Scope, rec.Key}] = r
		}
	}
	return found, nil
}

// artifactKey is the key of the row that a schedule's guard names. The guard
// was built from the same parts, so it cannot be refused here.
func artifactKey(s *Schedule) string {
	if s.ArtifactType == ArtifactMessagingJob {
		return s.ArtifactPartitionKey
	}
	key, _ := keys.Join(s.ArtifactPartitionKey, s.ArtifactRowKey)
	return key
}
