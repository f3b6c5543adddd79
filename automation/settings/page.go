package settings

import (
	"context"
	"errors"

	"github.com/belfry-go/belfry/internal/storable"
	"github.com/belfry-go/belfry/storage"
)

// Page is a part of a list, in the order of the ids.
type Page struct {
	// After is where the page before ended: what its call returned beside the
	// rows. Empty begins at the beginning.
	After string
	// Limit is at most so many; default 100, at most 1000.
	Limit int
}

func (p Page) limit() int {
	if p.Limit <= 0 {
		return 100
	}
	return min(p.Limit, 1000)
}

// listRows returns a page of rows, and where the next one begins: empty after the
// last.
func listRows[R any](ctx context.Context, tx storage.Tx, t *storage.Table[R], scope storage.Scope, rowType string, p Page) ([]*R, string, error) {
	if !storable.Text(string(scope)) || !storable.Text(rowType) || !storable.Text(p.After) {
		return nil, "", errors.New("settings: list: a scope, type or page that no row has")
	}
	var where []storage.Cond
	if rowType != "" {
		where = append(where, storage.Eq("type", rowType))
	}
	if p.After != "" {
		where = append(where, storage.Greater("key", p.After))
	}
	rows, err := t.Find(ctx, tx, scope, storage.Query{Where: where, OrderBy: "key", Limit: p.limit()})
	if err != nil || len(rows) < p.limit() {
		return rows, "", err
	}
	return rows, t.Record(rows[len(rows)-1]).Key, nil
}
