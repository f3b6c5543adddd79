package survey_test

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

var errCrash = errors.New("the process died here")

// faulty is a store that counts the verbs of transactions, each of which is a
// statement, and dies at one of them.
type faulty struct {
	storage.Store
	verbs  atomic.Int64
	crash  int64 // the verb that fails, from 1; zero: none
	commit bool  // the reply to the first COMMIT is lost
}

func (f *faulty) InTx(ctx context.Context, do func(storage.Tx) error) error {
	err := f.Store.InTx(ctx, func(tx storage.Tx) error { return do(&faultyTx{tx, f}) })
	if err == nil && f.commit {
		f.commit = false
		return storage.ErrOutcomeUnknown
	}
	return err
}

func (f *faulty) step() error {
	if f.verbs.Add(1) == f.crash {
		return errCrash
	}
	return nil
}

type faultyTx struct {
	storage.Tx
	s *faulty
}

func (t *faultyTx) Store() storage.Store { return t.s }

func (t *faultyTx) Insert(ctx context.Context, s *driver.Schema, rows []driver.Row) ([]bool, error) {
	if err := t.s.step(); err != nil {
		return nil, err
	}
	return t.Tx.Insert(ctx, s, rows)
}

func (t *faultyTx) Select(ctx context.Context, s *driver.Schema, reach driver.Reach, q driver.Query) ([]driver.Row, error) {
	if err := t.s.step(); err != nil {
		return nil, err
	}
	return t.Tx.Select(ctx, s, reach, q)
}

func (t *faultyTx) Update(ctx context.Context, s *driver.Schema, rows []driver.Row) ([]bool, error) {
	if err := t.s.step(); err != nil {
		return nil, err
	}
	return t.Tx.Update(ctx, s, rows)
}

func (t *faultyTx) Delete(ctx context.Context, s *driver.Schema, rows []driver.Row) ([]bool, error) {
	if err := t.s.step(); err != nil {
		return nil, err
	}
	return t.Tx.Delete(ctx, s, rows)
}
