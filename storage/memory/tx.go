package memory

import (
	"context"
	"errors"
	"fmt"

	"github.com/belfry-go/belfry/storage"
)

var errOver = errors.New("memory: the transaction is over")

// tx is one transaction. Only its goroutine is inside the store meanwhile.
type tx struct {
	store *Store
	undo  []change
	told  []mark
	hints storage.Hints
	call  uint64 // the number of the verb under way
	err   error  // set once a verb failed or the transaction is over
}

// change is what a row was before a write; old is nil if it did not exist.
type change struct {
	t   *table
	e   *entry
	old *image
}

// mark is what a caller's struct said before a verb gave it a new id or version.
type mark struct {
	rec         *storage.Record
	id, version int64
}

var _ storage.Tx = (*tx)(nil)

// InTx runs f once, alone. Everything it wrote is undone if it fails, panics, or
// ctx has ended by then, and so are the ids and versions that it gave to structs.
func (s *Store) InTx(ctx context.Context, f func(storage.Tx) error) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	t := &tx{store: s}
	if err := t.run(ctx, f); err != nil {
		return err
	}
	t.hints.Send(&s.waker)
	return nil
}

// run commits in the deferred call, which also sees a panic or a Goexit in f.
func (t *tx) run(ctx context.Context, f func(storage.Tx) error) error {
	committed := false
	defer func() {
		if !committed {
			t.rollBack()
		}
		t.err = errOver
		t.store.leave()
	}()
	if err := f(t); err != nil {
		return err
	}
	if t.err != nil {
		return t.err
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("memory: commit: %w", err)
	}
	committed = true
	return nil
}

func (t *tx) rollBack() {
	for i := len(t.undo) - 1; i >= 0; i-- {
		c := t.undo[i]
		c.t.set(c.e, c.old)
	}
	for i := len(t.told) - 1; i >= 0; i-- {
		m := t.told[i]
		m.rec.ID, m.rec.Version = m.id, m.version
	}
}

// Store is the store that began the transaction.
func (t *tx) Store() storage.Store { return t.store }

// table begins a verb: it refuses a transaction that has failed or is over.
func (t *tx) table(ctx context.Context, s *storage.Schema) (*table, error) {
	if t.err != nil {
		return nil, t.err
	}
	if err := ctx.Err(); err != nil {
		return nil, t.fail(fmt.Errorf("memory: %s: %w", s.Name, err))
	}
	tab, err := t.store.table(s)
	if err != nil {
		return nil, t.fail(err)
	}
	t.store.calls++
	t.call = t.store.calls
	return tab, nil
}

func (t *tx) fail(err error) error {
	t.err = err
	return err
}

// write makes img the row of e, nil to delete it, and notes how to undo that.
func (t *tx) write(tab *table, e *entry, img *image) {
	t.undo = append(t.undo, change{tab, e, e.img})
	tab.set(e, img)
}

// tell gives a caller's struct its id and version, until the transaction is undone.
func (t *tx) tell(rec *storage.Record, id, version int64) {
	t.told = append(t.told, mark{rec, rec.ID, rec.Version})
	rec.ID, rec.Version = id, version
}
