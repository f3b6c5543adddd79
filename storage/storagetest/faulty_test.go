package storagetest

import (
	"context"
	"testing"
	"time"

	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
)

// fault replaces parts of a sound store by wrong ones; what is nil stays sound.
type fault struct {
	name, theme string // the theme that must notice it

	inTx      func(ctx context.Context, s *faulty, f func(storage.Tx) error) error
	insert    func(ctx context.Context, tx storage.Tx, s *storage.Schema, rows []storage.Row) ([]bool, error)
	find      func(ctx context.Context, tx storage.Tx, s *storage.Schema, scope storage.Scope, q storage.Query) ([]storage.Row, error)
	claim     func(ctx context.Context, tx storage.Tx, s *storage.Schema, c storage.Claim) ([]storage.Row, error)
	update    func(ctx context.Context, tx storage.Tx, s *storage.Schema, rows []storage.Row) ([]bool, error)
	extend    func(ctx context.Context, tx storage.Tx, s *storage.Schema, rows []storage.Row, until time.Time) ([]bool, error)
	remove    func(ctx context.Context, tx storage.Tx, s *storage.Schema, rows []storage.Row) ([]bool, error)
	count     func(ctx context.Context, tx storage.Tx, s *storage.Schema, scope storage.Scope, where []storage.Cond, limit int) (int, error)
	tally     func(ctx context.Context, tx storage.Tx, s *storage.Schema, scope storage.Scope, q storage.Tally) ([]storage.Group, error)
	untouched func(ctx context.Context, tx storage.Tx, s *storage.Schema, scope storage.Scope, keys []string) ([]int64, error)
	next      func(ctx context.Context, s *memory.Store, schema *storage.Schema, c storage.Claim, horizon time.Time) (time.Time, error)
	waker     func(s *memory.Store) *storage.Waker
	blobs     func(b storage.Blobs) storage.Blobs
	// skew is what a take-over leaves out of the version.
	skew bool
}

// faulty is a store with a fault.
type faulty struct {
	*memory.Store
	fault
	blobs       storage.Blobs
	environment string
	skews       map[int64]int64 // by row: the stored version less the one that is told
}

func newFaulty(t testing.TB, f fault, o Options) *faulty {
	s := &faulty{
		Store:       memory.New(&memory.Options{Clock: o.Clock, Rand: o.Rand, Environment: o.Environment}),
		fault:       f,
		environment: o.Environment,
		skews:       map[int64]int64{},
	}
	blobs, err := storage.NewBlobs(s, "")
	if err != nil {
		t.Fatal(err)
	}
	s.blobs = blobs
	if f.blobs != nil {
		s.blobs = f.blobs(blobs)
	}
	return s
}

func (s *faulty) Blobs() storage.Blobs { return s.blobs }

func (s *faulty) Identity(ctx context.Context) (storage.Identity, error) {
	return storage.LoadIdentity(ctx, s, s.environment, "")
}

func (s *faulty) Waker() *storage.Waker {
	if s.waker != nil {
		return s.waker(s.Store)
	}
	return s.Store.Waker()
}

func (s *faulty) Next(ctx context.Context, schema *storage.Schema, c storage.Claim, horizon time.Time) (time.Time, error) {
	if s.next != nil {
		return s.next(ctx, s.Store, schema, c, horizon)
	}
	return s.Store.Next(ctx, schema, c, horizon)
}

func (s *faulty) InTx(ctx context.Context, f func(storage.Tx) error) error {
	wrapped := func(tx storage.Tx) error { return f(&faultyTx{tx, s}) }
	if s.inTx != nil {
		return s.inTx(ctx, s, wrapped)
	}
	return s.Store.InTx(ctx, wrapped)
}

type faultyTx struct {
	storage.Tx
	s *faulty
}

func (x *faultyTx) Store() storage.Store { return x.s }

func (x *faultyTx) Insert(ctx context.Context, s *storage.Schema, rows []storage.Row) ([]bool, error) {
	if x.s.insert != nil {
		return x.s.insert(ctx, x.Tx, s, rows)
	}
	return x.Tx.Insert(ctx, s, rows)
}

func (x *faultyTx) Select(ctx context.Context, s *storage.Schema, scope storage.Scope, q storage.Query) ([]storage.Row, error) {
	find := x.s.find
	if find == nil {
		find = soundFind
	}
	rows, err := find(ctx, x.Tx, s, scope, q)
	x.s.told(rows)
	return rows, err
}

func (x *faultyTx) Claim(ctx context.Context, s *storage.Schema, c storage.Claim) ([]storage.Row, error) {
	claim := x.s.claim
	if claim == nil {
		claim = soundClaim
	}
	rows, err := claim(ctx, x.Tx, s, c)
	for _, r := range rows {
		if rec := storage.RecordOf(r); x.s.skew && rec.Abandoned {
			x.s.skews[rec.ID]++
		}
	}
	x.s.told(rows)
	return rows, err
}

// told takes the skews out of the versions of rows.
func (s *faulty) told(rows []storage.Row) {
	for _, r := range rows {
		rec := storage.RecordOf(r)
		rec.Version -= s.skews[rec.ID]
	}
}

// meant puts the skews into the versions of rows.
func (s *faulty) meant(rows []storage.Row) {
	for _, r := range rows {
		rec := storage.RecordOf(r)
		rec.Version += s.skews[rec.ID]
	}
}

func (x *faultyTx) Update(ctx context.Context, s *storage.Schema, rows []storage.Row) ([]bool, error) {
	if x.s.update != nil {
		return x.s.update(ctx, x.Tx, s, rows)
	}
	x.s.meant(rows)
	defer x.s.told(rows)
	return x.Tx.Update(ctx, s, rows)
}

func (x *faultyTx) Extend(ctx context.Context, s *storage.Schema, rows []storage.Row, until time.Time) ([]bool, error) {
	if x.s.extend != nil {
		return x.s.extend(ctx, x.Tx, s, rows, until)
	}
	return x.Tx.Extend(ctx, s, rows, until)
}

func (x *faultyTx) Delete(ctx context.Context, s *storage.Schema, rows []storage.Row) ([]bool, error) {
	if x.s.remove != nil {
		return x.s.remove(ctx, x.Tx, s, rows)
	}
	x.s.meant(rows)
	defer x.s.told(rows)
	return x.Tx.Delete(ctx, s, rows)
}

func (x *faultyTx) Count(ctx context.Context, s *storage.Schema, scope storage.Scope, where []storage.Cond, limit int) (int, error) {
	if x.s.count != nil {
		return x.s.count(ctx, x.Tx, s, scope, where, limit)
	}
	return x.Tx.Count(ctx, s, scope, where, limit)
}

func (x *faultyTx) Tally(ctx context.Context, s *storage.Schema, scope storage.Scope, q storage.Tally) ([]storage.Group, error) {
	if x.s.tally != nil {
		return x.s.tally(ctx, x.Tx, s, scope, q)
	}
	return x.Tx.Tally(ctx, s, scope, q)
}

func (x *faultyTx) Untouched(ctx context.Context, s *storage.Schema, scope storage.Scope, keys []string) ([]int64, error) {
	if x.s.untouched != nil {
		return x.s.untouched(ctx, x.Tx, s, scope, keys)
	}
	return x.Tx.Untouched(ctx, s, scope, keys)
}

func soundFind(ctx context.Context, tx storage.Tx, s *storage.Schema, scope storage.Scope, q storage.Query) ([]storage.Row, error) {
	return tx.Select(ctx, s, scope, q)
}

func soundClaim(ctx context.Context, tx storage.Tx, s *storage.Schema, c storage.Claim) ([]storage.Row, error) {
	return tx.Claim(ctx, s, c)
}
