package sqlstore

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/internal/sqltext"
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
		rec := driver.RecordOf(r)
		rec.LeaseExpiresOn, rec.ClaimToken = driver.Time(c.LeaseUntil), c.Token
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
		ra, rb := driver.RecordOf(a), driver.RecordOf(b)
		if ra.Lane != rb.Lane {
			return cmp.Compare(place(ra.Lane), place(rb.Lane))
		}
		return cmp.Or(ra.DueOn.Compare(rb.DueOn), cmp.Compare(ra.ID, rb.ID))
	}
}

// Next looks for the earliest due moment with one SELECT outside of any
// transaction; the limits of the lanes do not matter.
func (s *Store) Next(ctx context.Context, schema *driver.Schema, c driver.Claim, horizon time.Time) (next time.Time, err error) {
	if len(c.Lanes) == 0 {
		return next, ctx.Err()
	}
	c.Now = horizon
	err = s.read(ctx, "next of "+schema.Name, s.table(schema).next(&c), func(r Rows) error {
		var v any
		for r.Next() {
			if err := r.Scan(&v); err != nil {
				return err
			}
		}
		next, _ = instant(v)
		return nil
	})
	return next, err
}

// Scout finds by reading what a claim would take that looks at more than it should at a
// time.
func (s *Store) Scout(ctx context.Context, schema *driver.Schema, c driver.Claim) (ids []int64, scouts bool, err error) {
	t := s.table(schema)
	if !t.scouts(&c) {
		return nil, false, nil
	}
	for _, l := range c.Lanes {
		found, err := s.scout(ctx, t, l, &c)
		if err != nil {
			return nil, true, err
		}
		ids = append(ids, found...)
	}
	return ids, true, nil
}

// scout walks a lane, in stages if it may be long, each in a snapshot of its own.
func (s *Store) scout(ctx context.Context, t table, l driver.LaneClaim, c *driver.Claim) (ids []int64, err error) {
	for more := true; more && l.Limit > 0; {
		var found []int64
		var to driver.Cursor
		err := s.View(ctx, func(from driver.Reader) (err error) {
			x := from.(*tx)
			found = nil
			if to, more, err = stageEnd(ctx, x, t, l, c); err == nil {
				err = x.query(ctx, t.Scout(l, to, c), scanIDs(&found))
			}
			if err != nil {
				err = x.fail(ctx, "scout of "+t.text().Schema().Name, err)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		ids, l.After, l.Limit = append(ids, found...), to, l.Limit-len(found)
		if more && l.Limit > 0 && c.Rest != nil {
			c.Rest(ctx)
		}
	}
	return ids, nil
}

// stageEnd is where the next stage of a walk ends, and whether there is more behind it.
func stageEnd(ctx context.Context, x *tx, t table, l driver.LaneClaim, c *driver.Claim) (to driver.Cursor, more bool, err error) {
	to = driver.Cursor{DueOn: c.Now, ID: math.MaxInt64}
	if !c.Long {
		return to, false, nil
	}
	err = x.query(ctx, t.Stage(l, c), func(r Rows) error {
		for r.Next() {
			var due any
			if err := r.Scan(&due, &to.ID); err != nil {
				return err
			}
			to.DueOn, more = instant(due)
		}
		return nil
	})
	return to, more, err
}

// scanIDs appends the ids that a query answers with.
func scanIDs(ids *[]int64) func(Rows) error {
	return func(r Rows) error {
		for r.Next() {
			var id int64
			if err := r.Scan(&id); err != nil {
				return err
			}
			*ids = append(*ids, id)
		}
		return nil
	}
}

// read runs one SELECT outside of a transaction, again if the database is busy
// or the connection broke while it lay idle.
func (s *Store) read(ctx context.Context, op string, q sqltext.Statement, read func(Rows) error) error {
	idle := s.cfg.Reader.Size()
	return s.repeat(ctx, lockTries, func() (sqltext.Class, error) {
		x, err := s.open(ctx, s.cfg.Reader)
		if err != nil {
			return classOf(err), err
		}
		err = x.Query(s.inside(ctx), q.Text, q.Args, read)
		if err == nil {
			_ = x.Release(false)
			return sqltext.Unknown, nil
		}
		f := s.failed(ctx, op, err)
		_ = x.Release(f.class == sqltext.Connection)
		if f.class == sqltext.Connection && ctx.Err() == nil && idle > 0 {
			idle--
			return sqltext.Busy, f
		}
		return f.class, f
	})
}
