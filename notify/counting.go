package notify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/belfry-go/belfry/storage"
)

// errOvertaken says that somebody else has counted in between.
var errOvertaken = errors.New("notify: a count was overtaken")

// counting runs f in a transaction until nobody else counts in between. Each time
// one of those who count together gets on, so that a few times are enough.
func counting(ctx context.Context, store storage.Store, f func(storage.Tx) error) error {
	for range 20 {
		err := store.InTx(ctx, f)
		if !errors.Is(err, errOvertaken) {
			return err
		}
	}
	return fmt.Errorf("%w too often: %w", errOvertaken, storage.ErrBusy)
}

// upsert writes rows that were loaded, and those that were not there then. It
// returns errOvertaken, which undoes the transaction, if somebody else was first
// with one of them.
func upsert[R any](ctx context.Context, tx storage.Tx, t *storage.Table[R], rows []*R) error {
	var old, add []*R
	for _, r := range rows {
		if t.Record(r).ID == 0 {
			add = append(add, r)
		} else {
			old = append(old, r)
		}
	}
	byPlace := func(a, b *R) int {
		x, y := t.Record(a), t.Record(b)
		return cmp.Or(cmp.Compare(x.Scope, y.Scope), cmp.Compare(x.Key, y.Key))
	}
	slices.SortFunc(add, byPlace) // the same order everywhere, or two wait for each other
	slices.SortFunc(old, byPlace)
	inserted, err := t.Insert(ctx, tx, add...)
	if err != nil {
		return err
	}
	for _, ok := range inserted {
		if !ok {
			return errOvertaken
		}
	}
	if err := t.Save(ctx, tx, old...); errors.Is(err, storage.ErrStale) {
		return errOvertaken
	} else if err != nil {
		return err
	}
	return nil
}
