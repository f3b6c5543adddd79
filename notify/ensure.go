package notify

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/belfry-go/belfry/storage"
)

// kind is what the Ensure methods need to know about one table; the rest is
// the same for all of them.
type kind[R any] struct {
	artifact Artifact
	table    *storage.Table[R]
	// fill checks a wanted row, derives its key and its defaults, and clears
	// what belongs to the pipeline.
	fill func(n *Notifier, now time.Time, r *R) error
	// immutable lists the fields that a stored row and a wanted one must agree in.
	immutable func(stored, want *R) []field
	// blobs are those that a row names, which are kept once it is created; nil:
	// none.
	blobs func(r *R) []storage.Ref
	// answer tells where the row is found.
	answer func(r *R) (c Coordinates, messageID string)
}

// field is one immutable field on both sides.
type field struct{ name, stored, wanted string }

// ensure is every Ensure method: prepare, find or create, record conflicts.
func ensure[R any](ctx context.Context, n *Notifier, tx storage.Tx, k *kind[R], want []R) ([]Ensured, error) {
	rows, err := k.prepare(n, want)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	var out []Ensured
	err = n.inTx(ctx, tx, func(tx storage.Tx) (err error) {
		out, _, err = k.ensureIn(ctx, tx, copies(rows)) // the transaction may run again
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, joinConflicts(out)
}

func (k *kind[R]) prepare(n *Notifier, want []R) ([]R, error) {
	now := storage.Now(n.store)
	rows := make([]R, len(want))
	for i := range want {
		rows[i] = want[i]
		if err := k.fill(n, now, &rows[i]); err != nil {
			return nil, fmt.Errorf("notify: %s, argument %d: %w", k.artifact, i+1, err)
		}
	}
	return rows, nil
}

func copies[R any](rows []R) []*R {
	out := make([]*R, len(rows))
	for i := range rows {
		r := rows[i]
		out[i] = &r
	}
	return out
}

// ensureIn ensures prepared rows and records the conflicts. Besides the answers
// it gives the rows as they are stored.
func (k *kind[R]) ensureIn(ctx context.Context, tx storage.Tx, want []*R) ([]Ensured, []*R, error) {
	found, err := k.table.Ensure(ctx, tx, k.decide, want...)
	if err != nil {
		return nil, nil, err
	}
	out, rows := make([]Ensured, len(found)), make([]*R, len(found))
	for i, f := range found {
		rows[i] = f.Row
		out[i] = k.ensured(f)
		if f.Outcome == storage.Conflict {
			out[i].Conflict = k.conflict(f.Row, want[i])
		}
	}
	if err := k.keepBlobs(ctx, tx, found); err != nil {
		return nil, nil, err
	}
	return out, rows, recordConflicts(ctx, tx, out)
}

// keepBlobs says that the blobs of new rows are referenced; those that repeats
// brought are collected in their time.
func (k *kind[R]) keepBlobs(ctx context.Context, tx storage.Tx, found []storage.Ensured[R]) error {
	if k.blobs == nil {
		return nil
	}
	var refs []storage.Ref
	for _, f := range found {
		if f.Outcome == storage.Created {
			refs = append(refs, k.blobs(f.Row)...)
		}
	}
	if len(refs) == 0 {
		return nil
	}
	return tx.Store().Blobs().Keep(ctx, tx, refs...)
}

// decide never changes a stored artifact: it is compatible, or a conflict.
func (k *kind[R]) decide(stored, want *R) (storage.Outcome, bool) {
	if k.conflict(stored, want) != nil {
		return storage.Conflict, false
	}
	return storage.Unchanged, false
}

func (k *kind[R]) conflict(stored, want *R) *ConflictError {
	for _, f := range k.immutable(stored, want) {
		if f.stored != f.wanted {
			at, _ := k.answer(stored)
			return &ConflictError{
				Artifact: k.artifact, Scope: k.table.Record(stored).Scope, Coordinates: at,
				Field: f.name, Stored: f.stored, Wanted: f.wanted,
			}
		}
	}
	return nil
}

func (k *kind[R]) ensured(f storage.Ensured[R]) Ensured {
	rec := k.table.Record(f.Row)
	at, id := k.answer(f.Row)
	return Ensured{
		Artifact: k.artifact, Scope: rec.Scope, Key: rec.Key, Coordinates: at,
		Outcome: f.Outcome, Status: rec.Status, MessageID: id,
	}
}

// joinConflicts is nil if there are none.
func joinConflicts(all []Ensured) error {
	var errs []error
	for _, e := range all {
		if e.Conflict != nil {
			errs = append(errs, e.Conflict)
		}
	}
	return errors.Join(errs...)
}

// fresh is the Record of a wanted row: only what its caller may choose of it.
func fresh(r storage.Record, key, status string) storage.Record {
	return storage.Record{Scope: r.Scope, Key: key, Type: r.Type, Status: status, Lane: r.Lane}
}

var errNoType = errors.New("Type is empty")
