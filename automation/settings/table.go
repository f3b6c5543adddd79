package settings

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/belfry-go/belfry/internal/storable"
	"github.com/belfry-go/belfry/storage"
)

// find returns the row with that key, or nil. A key that no row can have is not
// asked for.
func find[R any](ctx context.Context, tx storage.Tx, t *storage.Table[R], scope storage.Scope, key string) (*R, error) {
	if !storable.Text(string(scope)) || !storable.Text(key) {
		return nil, nil
	}
	row, err := t.Get(ctx, tx, scope, key)
	if errors.Is(err, storage.ErrNotFound) {
		return nil, nil
	}
	return row, err
}

// findAll returns the rows that there are, by key, in one statement.
func findAll[R any](ctx context.Context, tx storage.Tx, t *storage.Table[R], scope storage.Scope, keys []string) (map[string]*R, error) {
	keys = slices.DeleteFunc(slices.Clone(keys), func(k string) bool { return k == "" || !storable.Text(k) })
	if len(keys) == 0 || !storable.Text(string(scope)) {
		return nil, nil
	}
	rows, err := t.Find(ctx, tx, scope, storage.Query{Where: []storage.Cond{storage.In("key", keys)}, Limit: len(keys)})
	out := map[string]*R{}
	for _, r := range rows {
		out[t.Record(r).Key] = r
	}
	return out, err
}

// put inserts want where nothing is stored, and otherwise writes it over stored,
// if that is what the caller read.
func put[R any](ctx context.Context, tx storage.Tx, t *storage.Table[R], stored, want *R, version int64) error {
	rec := t.Record(want)
	if stored == nil {
		if version != 0 {
			return storage.ErrNotFound
		}
		inserted, err := t.Insert(ctx, tx, want)
		if err == nil && !inserted[0] {
			return storage.ErrStale
		}
		return err
	}
	found := t.Record(stored)
	if found.Version != version {
		return fmt.Errorf("read with version %d, stored with %d: %w", version, found.Version, storage.ErrStale)
	}
	rec.ID, rec.Version = found.ID, found.Version
	return t.Save(ctx, tx, want)
}

// wrap says what an error is about.
func wrap(kind, id string, err error) error {
	var invalid *InvalidError
	if err == nil || errors.As(err, &invalid) {
		return err
	}
	return fmt.Errorf("settings: %s %.60q: %w", kind, id, err)
}

// rewrite changes a stored row, again if somebody else writes it meanwhile.
// change reports whether there is something to write.
func rewrite[R any](ctx context.Context, tx storage.Tx, t *storage.Table[R], scope storage.Scope, key string, change func(*R) bool) error {
	for range 5 {
		row, err := find(ctx, tx, t, scope, key)
		if err != nil {
			return err
		}
		if row == nil {
			return storage.ErrNotFound
		}
		if !change(row) {
			return nil
		}
		if err := t.Save(ctx, tx, row); !errors.Is(err, storage.ErrStale) {
			return err
		}
	}
	return storage.ErrBusy
}

// sameDocument reports whether two documents are stored as the same text.
func sameDocument[D any](a, b D) bool {
	return string(mustJSON(a)) == string(mustJSON(b))
}

func mustJSON(d any) []byte {
	text, err := json.Marshal(d)
	if err != nil {
		panic(err) // documents consist of texts, numbers and dates that were checked
	}
	return text
}
