// Package place reads rows of several tenants at once.
package place

import (
	"context"

	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// At is the identity of a row across scopes.
type At struct {
	Scope storage.Scope
	Key   string
}

// Load reads rows by scope and key, one statement for each scope. Those that do
// not exist are left out.
func Load[R any](ctx context.Context, tx storage.Tx, t *driver.Table[R], places []At) (map[At]*R, error) {
	byScope := map[storage.Scope][]string{}
	for _, p := range places {
		byScope[p.Scope] = append(byScope[p.Scope], p.Key)
	}
	found := make(map[At]*R, len(places))
	for scope, wanted := range byScope {
		rows, err := t.Find(ctx, tx, scope, driver.Query{Where: []driver.Cond{driver.In("key", wanted)}, Unordered: true, Limit: len(wanted)})
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			rec := t.Record(r)
			found[At{rec.Scope, rec.Key}] = r
		}
	}
	return found, nil
}
