package storagetest

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/memory"
)

// fault replaces parts of a sound store by wrong ones; what is nil stays sound.
type fault struct {
	name, theme string // the theme that must notice it

	inTx      func(ctx context.Context, s *faulty, f func(driver.Tx) error) error
	view      func(ctx context.Context, s *faulty, f func(driver.Reader) error) error
	insert    func(ctx context.Context, tx driver.Tx, s *driver.Schema, rows []driver.Row) ([]bool, error)
	find      func(ctx context.Context, tx driver.Tx, s *driver.Schema, reach driver.Reach, q driver.Query) ([]driver.Row, error)
	get       func(ctx context.Context, tx driver.Tx, s *driver.Schema, places []driver.Place, columns []string) ([]driver.Row, error)
	claim     func(ctx context.Context, tx driver.Tx, s *driver.Schema, c driver.Claim) ([]driver.Row, error)
	update    func(ctx context.Context, tx driver.Tx, s *driver.Schema, rows []driver.Row) ([]bool, error)
	extend    func(ctx context.Context, tx driver.Tx, s *driver.Schema, rows []driver.Row, until time.Time) ([]bool, error)
	remove    func(ctx context.Context, tx driver.Tx, s *driver.Schema, rows []driver.Row) ([]bool, error)
	count     func(ctx context.Context, tx driver.Tx, s *driver.Schema, reach driver.Reach, where []driver.Cond, limit int) (int, error)
	tally     func(ctx context.Context, tx driver.Tx, s *driver.Schema, reach driver.Reach, q driver.Tally) ([]driver.Group, error)
	untouched func(ctx context.Context, tx driver.Tx, s *driver.Schema, scope driver.Scope, keys []string) ([]int64, error)
	next      func(ctx context.Context, s *memory.Store, schema *driver.Schema, c driver.Claim, horizon time.Time) (time.Time, error)
	waker     func(s *memory.Store) *driver.Waker
	blobs     func(b driver.Blobs) driver.Blobs
	// skew is what a take-over leaves out of the version.
	skew bool
}

// faulty is a store with a fault.
type faulty struct {
	*memory.Store
	fault
	blobs       driver.Blobs
	environment string
	views       atomic.Int64    // under way
	skews       map[int64]int64 // by row: the stored version less the one that is told
}

func newFaulty(t testing.TB, f fault, o Options) *faulty {
	s := &faulty{
		Store:       memory.New(&memory.Options{Clock: o.Clock, Rand: o.Rand, Environment: o.Environment}),
		fault:       f,
		environment: o.Environment,
		skews:       map[int64]int64{},
	}
	blobs, err := driver.NewBlobs(s, "")
	if err != nil {
		t.Fatal(err)
	}
	s.blobs = blobs
	if f.blobs != nil {
		s.blobs = f.blobs(blobs)
	}
	return s
}

func (s *faulty) Blobs() driver.Blobs { return s.blobs }

func (s *faulty) Identity(ctx context.Context) (driver.Identity, error) {
	return driver.LoadIdentity(ctx, s, s.environment, "")
}

func (s *faulty) Waker() *driver.Waker {
	if s.waker != nil {
		return s.waker(s.Store)
	}
	return s.Store.Waker()
}

func (s *faulty) Next(ctx context.Context, schema *driver.Schema, c driver.Claim, horizon time.Time) (time.Time, error) {
	if s.next != nil {
		return s.next(ctx, s.Store, schema, c, horizon)
	}
	return s.Store.Next(ctx, schema, c, horizon)
}

func (s *faulty) InTx(ctx context.Context, f func(driver.Tx) error) error {
	wrapped := func(tx driver.Tx) error { return f(&faultyTx{tx, s}) }
	if s.inTx != nil {
		return s.inTx(ctx, s, wrapped)
	}
	return s.Store.InTx(ctx, wrapped)
}

func (s *faulty) View(ctx context.Context, f func(driver.Reader) error) error {
	if s.view != nil {
		return s.view(ctx, s, f)
	}
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

func (x *faultyTx) Select(ctx context.Context, s *driver.Schema, reach driver.Reach, q driver.Query) ([]driver.Row, error) {
	find := x.s.find
	if find == nil {
		find = soundFind
	}
	rows, err := find(ctx, x.Tx, s, reach, q)
	x.s.told(rows)
	return rows, err
}

func (x *faultyTx) Get(ctx context.Context, s *driver.Schema, places []driver.Place, columns []string) ([]driver.Row, error) {
	get := x.s.get
	if get == nil {
		get = soundGet
	}
	rows, err := get(ctx, x.Tx, s, places, columns)
	x.s.told(rows)
	return rows, err
}

func (x *faultyTx) Claim(ctx context.Context, s *driver.Schema, c driver.Claim) ([]driver.Row, error) {
	claim := x.s.claim
	if claim == nil {
		claim = soundClaim
	}
	rows, err := claim(ctx, x.Tx, s, c)
	for _, r := range rows {
		if rec := driver.RecordOf(r); x.s.skew && rec.Abandoned {
			x.s.skews[rec.ID]++
		}
	}
	x.s.told(rows)
	return rows, err
}

// told takes the skews out of the versions of rows.
func (s *faulty) told(rows []driver.Row) {
	for _, r := range rows {
		rec := driver.RecordOf(r)
		rec.Version -= s.skews[rec.ID]
	}
}

// meant puts the skews into the versions of rows.
func (s *faulty) meant(rows []driver.Row) {
	for _, r := range rows {
		rec := driver.RecordOf(r)
		rec.Version += s.skews[rec.ID]
	}
}

func (x *faultyTx) Update(ctx context.Context, s *driver.Schema, rows []driver.Row) ([]bool, error) {
	if x.s.update != nil {
		return x.s.update(ctx, x.Tx, s, rows)
	}
	x.s.meant(rows)
	defer x.s.told(rows)
	return x.Tx.Update(ctx, s, rows)
}

func (x *faultyTx) Extend(ctx context.Context, s *driver.Schema, rows []driver.Row, until time.Time) ([]bool, error) {
	if x.s.extend != nil {
		return x.s.extend(ctx, x.Tx, s, rows, until)
	}
	return x.Tx.Extend(ctx, s, rows, until)
}

func (x *faultyTx) Delete(ctx context.Context, s *driver.Schema, rows []driver.Row) ([]bool, error) {
	if x.s.remove != nil {
		return x.s.remove(ctx, x.Tx, s, rows)
	}
	x.s.meant(rows)
	defer x.s.told(rows)
	return x.Tx.Delete(ctx, s, rows)
}

func (x *faultyTx) Count(ctx context.Context, s *driver.Schema, reach driver.Reach, where []driver.Cond, limit int) (int, error) {
	if x.s.count != nil {
		return x.s.count(ctx, x.Tx, s, reach, where, limit)
	}
	return x.Tx.Count(ctx, s, reach, where, limit)
}

func (x *faultyTx) Tally(ctx context.Context, s *driver.Schema, reach driver.Reach, q driver.Tally) ([]driver.Group, error) {
	if x.s.tally != nil {
		return x.s.tally(ctx, x.Tx, s, reach, q)
	}
	return x.Tx.Tally(ctx, s, reach, q)
}

func (x *faultyTx) Untouched(ctx context.Context, s *driver.Schema, scope driver.Scope, keys []string) ([]int64, error) {
	if x.s.untouched != nil {
		return x.s.untouched(ctx, x.Tx, s, scope, keys)
	}
	return x.Tx.(driver.Recognizer).Untouched(ctx, s, scope, keys)
}

func soundFind(ctx context.Context, tx driver.Tx, s *driver.Schema, reach driver.Reach, q driver.Query) ([]driver.Row, error) {
	return tx.Select(ctx, s, reach, q)
}

func soundGet(ctx context.Context, tx driver.Tx, s *driver.Schema, places []driver.Place, columns []string) ([]driver.Row, error) {
	return tx.Get(ctx, s, places, columns)
}

func soundClaim(ctx context.Context, tx driver.Tx, s *driver.Schema, c driver.Claim) ([]driver.Row, error) {
	return tx.Claim(ctx, s, c)
}
