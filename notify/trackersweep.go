package notify

import (
	"context"
	"errors"
	"time"

	"github.com/belfry-go/belfry/storage"
)

const (
	// rememberEvents is how long an event is known again: providers repeat their
	// callbacks for hours, some for a week.
	rememberEvents = 30 * 24 * time.Hour
	sweepEvery     = time.Hour
	// sweepBatch is how many rows of a table are deleted at once.
	sweepBatch = 1000

	// statusSweep is that of the one row that makes the sweep due.
	statusSweep = "Sweep"
)

// prepareSweep makes the row whose due moment is the next sweep.
func (n *Notifier) prepareSweep(ctx context.Context) error {
	return n.store.InTx(ctx, func(tx storage.Tx) error {
		_, err := deliveryEvents.Insert(ctx, tx, &deliveryEvent{
			Record: storage.Record{Key: statusSweep, Status: statusSweep, DueOn: storage.Now(n.store).Add(sweepEvery)},
		})
		return err
	})
}

// findOld reads the oldest rows. If all of them are to go, there may be more, and
// the sweep goes on at once.
func (n *Notifier) findOld(ctx context.Context, now time.Time, sweep *deliveryEvent) (old looked, err error) {
	before := now.Add(-rememberEvents)
	err = n.store.InTx(ctx, func(tx storage.Tx) error {
		old.events, err = oldest(ctx, tx, deliveryEvents, "received_on", func(e *deliveryEvent) bool {
			return e.Status != statusSweep && e.DueOn.IsZero() && e.ReceivedOn.Before(before)
		})
		if err != nil {
			return err
		}
		old.receipts, err = oldest(ctx, tx, messageReceipts, "created_on", func(r *messageReceipt) bool { return r.CreatedOn.Before(before) })
		return err
	})
	sweep.DueOn = now.Add(sweepEvery)
	if max(len(old.events), len(old.receipts)) >= sweepBatch-1 {
		sweep.DueOn = now
	}
	return old, err
}

// oldest reads the first rows of a table, which were inserted first or nearly so,
// and gives those that may go: no index on a time is needed for it.
func oldest[R any](ctx context.Context, tx storage.Tx, t *storage.Table[R], on string, gone func(*R) bool) ([]*R, error) {
	rows, err := t.Find(ctx, tx, "", storage.Query{Columns: []string{"version", "status", "due_on", on}, Limit: sweepBatch})
	var old []*R
	for _, r := range rows {
		if gone(r) {
			old = append(old, r)
		}
	}
	return old, err
}

// deleteOld deletes rows; what another sweep has deleted is gone already.
func deleteOld(ctx context.Context, tx storage.Tx, old looked) error {
	for _, err := range []error{deliveryEvents.Delete(ctx, tx, old.events...), messageReceipts.Delete(ctx, tx, old.receipts...)} {
		if err != nil && !errors.Is(err, storage.ErrStale) {
			return err
		}
	}
	return nil
}
