package storagetest

import (
	"context"
	"testing"
	"time"

	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/memory"
)

type claimFunc = func(context.Context, driver.Tx, *driver.Schema, driver.Claim) ([]driver.Row, error)

// fault replaces parts of a sound store by wrong ones; what is nil stays sound.
type fault struct {
	name, theme string // the theme that must notice it

	inTx   func(ctx context.Context, s *faulty, f func(driver.Tx) error) error
	insert func(ctx context.Context, tx driver.Tx, s *driver.Schema, rows []driver.Row) ([]bool, error)
	find   func(ctx context.Context, tx driver.Tx, s *driver.Schema, reach driver.ScopeFilter, q driver.Query) ([]driver.Row, error)
	claim  claimFunc
	update func(ctx context.Context, tx driver.Tx, s *driver.Schema, rows []driver.Row) ([]bool, error)
	extend func(ctx context.Context, tx driver.Tx, s *driver.Schema, rows []driver.Row, until time.Time) ([]bool, error)
}

// faulty is a store in memory with a fault.
type faulty struct {
	*memory.Store
	fault
	blobs       driver.Blobs
	environment string
}

func newFaulty(t testing.TB, f fault, o Options) *faulty {
	s := &faulty{
		Store:       memory.New(&memory.Options{Clock: o.Clock, Rand: o.Rand, Environment: o.Environment}),
		fault:       f,
		environment: o.Environment,
	}
	var err error
	if s.blobs, err = driver.NewBlobs(s, ""); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *faulty) Blobs() driver.Blobs { return s.blobs }

func (s *faulty) Identity(ctx context.Context) (driver.Identity, error) {
	return driver.LoadIdentity(ctx, s, s.environment, "")
}

func (s *faulty) InTx(ctx context.Context, f func(driver.Tx) error) error {
	wrapped := func(tx driver.Tx) error { return f(&faultyTx{tx, s}) }
	if s.inTx != nil {
		return s.inTx(ctx, s, wrapped)
	}
	return s.Store.InTx(ctx, wrapped)
}

func (s *faulty) View(ctx context.Context, f func(driver.Reader) error) error {
	return s.Store.View(ctx, func(from driver.Reader) error { return f(seen{from, s}) })
}

// seen is a sound view of a faulty store.
type seen struct {
	driver.Reader
	s *faulty
}

func (r seen) Store() driver.Store { return r.s }

type faultyTx struct {
	driver.Tx
	s *faulty
}

func (x *faultyTx) Store() driver.Store { return x.s }

func (x *faultyTx) Insert(ctx context.Context, s *driver.Schema, rows []driver.Row) ([]bool, error) {
	if x.s.insert != nil {
		return x.s.insert(ctx, x.Tx, s, rows)
	}
	return x.Tx.Insert(ctx, s, rows)
}

func (x *faultyTx) Select(ctx context.Context, s *driver.Schema, reach driver.ScopeFilter, q driver.Query) ([]driver.Row, error) {
	if x.s.find != nil {
		return x.s.find(ctx, x.Tx, s, reach, q)
	}
	return x.Tx.Select(ctx, s, reach, q)
}

func (x *faultyTx) Claim(ctx context.Context, s *driver.Schema, c driver.Claim) ([]driver.Row, error) {
	if x.s.claim != nil {
		return x.s.claim(ctx, x.Tx, s, c)
	}
	return x.Tx.Claim(ctx, s, c)
}

func (x *faultyTx) Update(ctx context.Context, s *driver.Schema, rows []driver.Row) ([]bool, error) {
	if x.s.update != nil {
		return x.s.update(ctx, x.Tx, s, rows)
	}
	return x.Tx.Update(ctx, s, rows)
}

func (x *faultyTx) Extend(ctx context.Context, s *driver.Schema, rows []driver.Row, until time.Time) ([]bool, error) {
	if x.s.extend != nil {
		return x.s.extend(ctx, x.Tx, s, rows, until)
	}
	return x.Tx.Extend(ctx, s, rows, until)
}
