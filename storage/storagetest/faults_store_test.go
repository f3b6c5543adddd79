package storagetest

import (
	"context"
	"io"
	"time"

	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/memory"
)

// committing is a store that commits whatever its function says.
func committing(ctx context.Context, s *faulty, f func(driver.Tx) error) (err error) {
	committed := s.Store.InTx(ctx, func(tx driver.Tx) error {
		err = f(tx)
		return nil
	})
	if err == nil {
		err = committed
	}
	return err
}

// ownMoments reads for each verb of a view anew.
type ownMoments struct {
	driver.Reader
	s *faulty
}

func (r ownMoments) Count(ctx context.Context, s *driver.Schema, reach driver.Reach, where []driver.Cond, limit int) (n int, err error) {
	err = r.s.InTx(ctx, func(tx driver.Tx) error {
		n, err = tx.Count(ctx, s, reach, where, limit)
		return err
	})
	return n, err
}

func severalMoments(_ context.Context, s *faulty, f func(driver.Reader) error) error {
	return f(ownMoments{s: s})
}

// alone is a view that keeps transactions out while it reads: they are told to come again.
func alone(ctx context.Context, s *faulty, f func(driver.Reader) error) error {
	s.views.Add(1)
	defer s.views.Add(-1)
	return s.Store.View(ctx, func(from driver.Reader) error { return f(seen{from, s}) })
}

func besideNoView(ctx context.Context, s *faulty, f func(driver.Tx) error) error {
	if s.views.Load() > 0 {
		return driver.ErrBusy
	}
	return s.Store.InTx(ctx, f)
}

// silent is a view that keeps its function's error to itself.
func silent(ctx context.Context, s *faulty, f func(driver.Reader) error) error {
	_ = s.Store.View(ctx, func(from driver.Reader) error { return f(seen{from, s}) })
	return nil
}

// twice runs the function once more after it has committed.
func twice(ctx context.Context, s *faulty, f func(driver.Tx) error) error {
	if err := s.Store.InTx(ctx, f); err != nil {
		return err
	}
	return s.Store.InTx(ctx, f)
}

// faultyBlobs replaces methods of sound blobs; what is nil stays sound.
type faultyBlobs struct {
	driver.Blobs
	keep   func() error
	until  func(time.Time) time.Time
	offset func(int64) int64
	limit  int
}

func (b faultyBlobs) Keep(ctx context.Context, tx driver.Tx, owned ...driver.Owned) error {
	if b.keep != nil {
		return b.keep()
	}
	return b.Blobs.Keep(ctx, tx, owned...)
}

func (b faultyBlobs) KeepUntil(ctx context.Context, tx driver.Tx, until time.Time, refs ...driver.Ref) error {
	if b.until != nil {
		until = b.until(until)
	}
	return b.Blobs.KeepUntil(ctx, tx, until, refs...)
}

func (b faultyBlobs) Open(ctx context.Context, ref driver.Ref, offset int64) (io.ReadCloser, error) {
	if b.offset != nil {
		offset = b.offset(offset)
	}
	return b.Blobs.Open(ctx, ref, offset)
}

func (b faultyBlobs) Collect(ctx context.Context, limit int) (int, error) {
	if b.limit != 0 {
		limit = b.limit
	}
	return b.Blobs.Collect(ctx, limit)
}

// staying is a store that keeps the claims of a transaction that is rolled back.
func staying(ctx context.Context, s *faulty, f func(driver.Tx) error) error {
	x := &remembering{}
	err := s.Store.InTx(ctx, func(tx driver.Tx) error {
		x.Tx = tx
		return f(x)
	})
	if err == nil {
		return nil
	}
	_ = s.Store.InTx(ctx, func(tx driver.Tx) error {
		for _, again := range x.claims {
			again(tx)
		}
		return nil
	})
	return err
}

// leaving is a store whose structs keep the versions of a transaction that is
// rolled back.
func leaving(ctx context.Context, s *faulty, f func(driver.Tx) error) error {
	x := &remembering{versions: map[*driver.Record]int64{}}
	err := s.Store.InTx(ctx, func(tx driver.Tx) error {
		x.Tx = tx
		return f(x)
	})
	if err != nil {
		for r, version := range x.versions {
			r.Version = version
		}
	}
	return err
}

// remembering notes what a transaction claims, and the versions that it gives.
type remembering struct {
	driver.Tx
	claims   []func(tx driver.Tx)
	versions map[*driver.Record]int64
}

func (r *remembering) Claim(ctx context.Context, s *driver.Schema, c driver.Claim) ([]driver.Row, error) {
	r.claims = append(r.claims, func(tx driver.Tx) { _, _ = tx.Claim(ctx, s, c) })
	return r.Tx.Claim(ctx, s, c)
}

func (r *remembering) Update(ctx context.Context, s *driver.Schema, rows []driver.Row) ([]bool, error) {
	stale, err := r.Tx.Update(ctx, s, rows)
	for _, row := range rows {
		if rec := driver.RecordOf(row); r.versions != nil {
			r.versions[rec] = rec.Version
		}
	}
	return stale, err
}

var storeFaults = []fault{
	{name: "a claim is not rolled back", theme: "transactions", inTx: staying},
	{name: "a roll-back leaves versions in structs", theme: "transactions", inTx: leaving},
	{name: "an error about a value is forgotten", theme: "transactions",
		insert: func(ctx context.Context, tx driver.Tx, s *driver.Schema, rows []driver.Row) ([]bool, error) {
			for _, r := range rows {
				for i := range s.Columns {
					if _, err := s.Columns[i].Value(r); err != nil {
						return nil, err
					}
				}
			}
			return tx.Insert(ctx, s, rows)
		}},
	{name: "saved moments are rounded", theme: "times",
		update: func(ctx context.Context, tx driver.Tx, s *driver.Schema, rows []driver.Row) ([]bool, error) {
			for _, r := range rows {
				rec := driver.RecordOf(r)
				rec.DueOn = rec.DueOn.Round(time.Microsecond)
			}
			return tx.Update(ctx, s, rows)
		}},
	{name: "a committed transaction runs again", theme: "exclusion", inTx: twice},
	{name: "an error commits", theme: "transactions", inTx: committing},
	{name: "a panic commits", theme: "transactions",
		inTx: func(ctx context.Context, s *faulty, f func(driver.Tx) error) error {
			var panicked any
			err := s.Store.InTx(ctx, func(tx driver.Tx) error {
				defer func() { panicked = recover() }()
				return f(tx)
			})
			if panicked != nil {
				panic(panicked)
			}
			return err
		}},
	{name: "a panic is swallowed", theme: "transactions",
		inTx: func(ctx context.Context, s *faulty, f func(driver.Tx) error) error {
			defer func() { _ = recover() }()
			return s.Store.InTx(ctx, f)
		}},
	{name: "a verb's error is forgotten", theme: "transactions",
		count: func(ctx context.Context, tx driver.Tx, s *driver.Schema, reach driver.Reach, where []driver.Cond, limit int) (int, error) {
			if err := ctx.Err(); err != nil {
				return 0, err
			}
			return tx.Count(ctx, s, reach, where, limit)
		}},
	{name: "an uncommitted row is seen", theme: "isolation", inTx: committing},
	{name: "a view shows several moments", theme: "views", view: severalMoments},
	{name: "a view keeps writers out", theme: "views", view: alone, inTx: besideNoView},
	{name: "a view loses an error", theme: "views", view: silent},
	{name: "contexts are ignored", theme: "contexts",
		inTx: func(ctx context.Context, s *faulty, f func(driver.Tx) error) error {
			return s.Store.InTx(context.WithoutCancel(ctx), f)
		}},
	{name: "nobody is woken", theme: "waking", waker: func(*memory.Store) *driver.Waker { return &driver.Waker{} }},
	{name: "a roll-back wakes", theme: "waking",
		inTx: func(ctx context.Context, s *faulty, f func(driver.Tx) error) error {
			var hints driver.Hints
			err := s.Store.InTx(ctx, func(tx driver.Tx) error {
				return f(hinting{tx, &hints})
			})
			hints.Send(s.Store.Waker())
			return err
		}},
	{name: "next ignores the horizon", theme: "next",
		next: func(ctx context.Context, s *memory.Store, schema *driver.Schema, c driver.Claim, horizon time.Time) (time.Time, error) {
			return s.Next(ctx, schema, c, horizon.Add(time.Hour))
		}},
	{name: "next looks at rows of all types", theme: "next",
		next: func(ctx context.Context, s *memory.Store, schema *driver.Schema, c driver.Claim, horizon time.Time) (time.Time, error) {
			c.Kinds = nil
			return s.Next(ctx, schema, c, horizon)
		}},
	{name: "blobs are not kept", theme: "blobs",
		blobs: func(b driver.Blobs) driver.Blobs { return faultyBlobs{Blobs: b, keep: func() error { return nil }} }},
	{name: "blobs are kept for ever", theme: "blobs",
		blobs: func(b driver.Blobs) driver.Blobs {
			return faultyBlobs{Blobs: b, until: func(t time.Time) time.Time { return t.AddDate(100, 0, 0) }}
		}},
	{name: "blobs are read from the start", theme: "blobs",
		blobs: func(b driver.Blobs) driver.Blobs {
			return faultyBlobs{Blobs: b, offset: func(int64) int64 { return 0 }}
		}},
	{name: "all blobs are collected at once", theme: "blobs",
		blobs: func(b driver.Blobs) driver.Blobs { return faultyBlobs{Blobs: b, limit: 1000} }},
	{name: "blobs lose their last chunk", theme: "blobs",
		insert: func(ctx context.Context, tx driver.Tx, s *driver.Schema, rows []driver.Row) ([]bool, error) {
			if s.Name == "blob_chunk" && driver.RecordOf(rows[0]).Key[33:] == "00000001" {
				return []bool{true}, nil
			}
			return tx.Insert(ctx, s, rows)
		}},
	{name: "the environment is not stored", theme: "environment",
		insert: func(ctx context.Context, tx driver.Tx, s *driver.Schema, rows []driver.Row) ([]bool, error) {
			if s.Name == "store_identity" {
				return make([]bool, len(rows)), nil
			}
			return tx.Insert(ctx, s, rows)
		}},
}

// hinting notes what is inserted, whether or not it will be there.
type hinting struct {
	driver.Tx
	hints *driver.Hints
}

func (h hinting) Insert(ctx context.Context, s *driver.Schema, rows []driver.Row) ([]bool, error) {
	h.hints.Add(s, rows)
	return h.Tx.Insert(ctx, s, rows)
}
