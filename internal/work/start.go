package work

import (
	"context"
	"errors"
	"time"

	"github.com/belfry-go/belfry/storage"
)

// Start commits held rows before their outside calls begin (a message's
// call-started write): one batched write, fenced by the version, that renews the
// lease until then. It tells which rows are ours to go on with; a row that
// somebody else wrote meanwhile is not, and none is after an error.
func Start[R any](ctx context.Context, store storage.Store, t *storage.Table[R], until time.Time, rows []*R) ([]bool, error) {
	before := make([]int64, len(rows))
	for i, row := range rows {
		before[i] = t.Record(row).Version
		t.Record(row).LeaseExpiresOn = storage.Time(until)
	}
	started := make([]bool, len(rows))
	err := store.InTx(ctx, func(tx storage.Tx) error {
		for i, row := range rows {
			t.Record(row).Version, started[i] = before[i], true
		}
		err := t.Settle(ctx, tx, rows...)
		if stale := (*storage.StaleError)(nil); errors.As(err, &stale) {
			for _, i := range stale.Rows {
				started[i] = false
			}
			return nil
		}
		return err
	})
	if errors.Is(err, storage.ErrOutcomeUnknown) {
		return committed(ctx, store, t, before, rows)
	}
	if err != nil {
		for i, row := range rows {
			t.Record(row).Version = before[i]
		}
		return make([]bool, len(rows)), err
	}
	return started, nil
}

// committed reads back which of the rows have the version that one write of ours
// gives, under our claim.
func committed[R any](ctx context.Context, store storage.Store, t *storage.Table[R], before []int64, rows []*R) ([]bool, error) {
	var stored map[int64]*R
	err := store.InTx(ctx, func(tx storage.Tx) (err error) {
		stored, err = load(ctx, tx, t, rows)
		return err
	})
	ok := make([]bool, len(rows))
	for i, row := range rows {
		rec := t.Record(row)
		rec.Version = before[i]
		if s := stored[rec.ID]; err == nil && s != nil && t.Record(s).ClaimToken == rec.ClaimToken && t.Record(s).Version == before[i]+1 {
			rec.Version, ok[i] = before[i]+1, true
		}
	}
	return ok, err
}
