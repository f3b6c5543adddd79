package sqlstore

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/belfry-go/belfry/storage/driver"
)

// Claim takes due rows. Databases promise no order of what a statement changed,
// so the rows are put into it here.
func (x *tx) Claim(ctx context.Context, s *driver.Schema, c driver.Claim) (rows []driver.Row, err error) {
	if x.joined {
		return nil, driver.ErrJoined
	}
	limit := 0
	for _, l := range c.Lanes {
		limit += max(l.Limit, 0)
	}
	if limit == 0 {
		return nil, x.usable(ctx)
	}
	rows, err = x.store.table(s).claim(ctx, x, &c)
	if err != nil {
		return nil, x.fail(ctx, "claim from "+s.Name, err)
	}
	for _, r := range rows { // what the claim has just written
		due := driver.DueOf(r)
		due.LeaseExpiresOn, due.ClaimToken = driver.Time(c.LeaseUntil), c.Token
		x.wrote(s, &due.Record)
	}
	slices.SortFunc(rows, inClaimOrder(c.Lanes))
	return rows, nil
}

// inClaimOrder compares by lane as asked, then due moment and id.
func inClaimOrder(lanes []driver.LaneClaim) func(a, b driver.Row) int {
	place := func(lane int16) int {
		return slices.IndexFunc(lanes, func(l driver.LaneClaim) bool { return l.Lane == lane })
	}
	return func(a, b driver.Row) int {
		da, db := driver.DueOf(a), driver.DueOf(b)
		if da.Lane != db.Lane {
			return cmp.Compare(place(da.Lane), place(db.Lane))
		}
		return cmp.Or(da.DueOn.Compare(db.DueOn), cmp.Compare(da.ID, db.ID))
	}
}

// Next looks for the first due rows with one SELECT outside of any transaction.
func (s *Store) Next(ctx context.Context, schema *driver.Schema, c driver.Claim, horizon time.Time) ([]driver.Cursor, error) {
	first := make([]driver.Cursor, len(c.Lanes))
	if len(c.Lanes) == 0 {
		return first, ctx.Err()
	}
	c.Now = horizon
	err := s.read(ctx, "next of "+schema.Name, s.table(schema).next(&c), func(r Rows) error {
		clear(first) // it may run again
		for r.Next() {
			var lane int16
			var due any
			var place driver.Cursor
			if err := r.Scan(&lane, &due, &place.ID); err != nil {
				return err
			}
			place.DueOn, _ = instant(due)
			first[slices.IndexFunc(c.Lanes, func(l driver.LaneClaim) bool { return l.Lane == lane })] = place
		}
		return nil
	})
	return first, err
}

// read runs one SELECT outside of a transaction, again if the database is busy
// or the connection broke while it lay idle.
func (s *Store) read(ctx context.Context, op string, q statement, read func(Rows) error) error {
	idle := s.cfg.Reader.Size()
	return s.repeat(ctx, lockTries, func() (Class, error) {
		x, err := s.open(ctx, s.cfg.Reader)
		if err != nil {
			return classOf(err), err
		}
		err = x.Query(s.inside(ctx), q.text, q.args, read)
		if err == nil {
			_ = x.Release(false)
			return Unknown, nil
		}
		f := s.failed(ctx, op, err)
		_ = x.Release(f.class == Connection)
		if f.class == Connection && ctx.Err() == nil && idle > 0 {
			idle--
			return Busy, f
		}
		return f.class, f
	})
}
