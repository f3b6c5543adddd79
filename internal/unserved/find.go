package unserved

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/belfry-go/belfry/internal/backlog"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// page is how many rows are stopped, or go on, in one transaction.
const page = 1000

// free describes rows of a lane that wait for a process, or that one has left behind.
func (t Table[R]) free(l looking, lane int16) []driver.Cond {
	held := driver.Null("lease_expires_on")
	if t.Abandon != nil {
		held = driver.Any(held, driver.AtMost("lease_expires_on", l.now.Add(-l.after)))
	}
	return []driver.Cond{driver.Eq("lane", int64(lane)), driver.Greater("kind", ""), driver.In("status", t.Waiting), held}
}

// waiting are the kinds of others among the rows that are due for longest, as far as
// Health looks. Those behind a backlog have their turn later.
func (t Table[R]) waiting(ctx context.Context, from driver.Reader, l looking, served []string) (out []string, err error) {
	lanes, _, err := backlog.LanesOf(ctx, from, &t.Rows.Schema)
	if err != nil {
		return nil, err
	}
	for _, lane := range lanes {
		found, err := from.CountBy(ctx, &t.Rows.Schema, driver.Everywhere(), driver.CountBy{
			By: []string{"kind"}, Where: append(t.free(l, lane), driver.AtMost("due_on", l.now)), OrderBy: "due_on", Limit: backlog.Limit,
		})
		if err != nil {
			return nil, err
		}
		for _, g := range found {
			if kind := driver.RecordOf(g.Row).Kind; !slices.Contains(served, kind) && !slices.Contains(out, kind) {
				out = append(out, kind)
			}
		}
	}
	slices.Sort(out)
	return out, nil
}

// stop has the rows of kinds wait no longer that have been due for long enough.
func (t Table[R]) stop(ctx context.Context, store storage.Store, l looking, gone []string) error {
	var lanes []int16
	err := store.View(ctx, func(from driver.Reader) (err error) {
		lanes, _, err = backlog.LanesOf(ctx, from, &t.Rows.Schema)
		return err
	})
	if err != nil {
		return err
	}
	for _, lane := range lanes {
		due := append(t.free(l, lane), driver.AtMost("due_on", l.now.Add(-l.after)), driver.In("kind", gone))
		err := t.each(ctx, store, driver.Query{Where: due, OrderBy: "due_on", Limit: page}, func(r *R) { t.end(l.now, r) })
		if err != nil {
			return err
		}
	}
	return nil
}

// end stops a row, or settles one that was left behind, without its lease.
func (t Table[R]) end(now time.Time, r *R) {
	rec := t.Rows.DueOf(r)
	if rec.LeaseExpiresOn.IsZero() {
		t.Stop(now, r)
		return
	}
	t.Abandon(now, r)
	rec.LeaseExpiresOn, rec.Abandoned = time.Time{}, false
}

// resume has go on what was on hold for a kind that is served.
func (t Table[R]) resume(ctx context.Context, store storage.Store, l looking, served []string) error {
	held := []driver.Cond{driver.Eq("is_on_support_hold", true), driver.Eq("hold_reason", t.Hold), driver.In("kind", served)}
	return t.each(ctx, store, driver.Query{Where: held, Limit: page}, func(r *R) { t.Resume(l.now, r) })
}

// each changes all rows that q describes, a page in a transaction, until it finds no more
// or other processes have taken all of a page.
func (t Table[R]) each(ctx context.Context, store storage.Store, q driver.Query, change func(*R)) error {
	for {
		found, saved := 0, 0
		err := store.InTx(ctx, func(tx storage.Tx) error {
			rows, err := t.Rows.Everywhere().Find(ctx, tx, q)
			if err != nil {
				return err
			}
			for _, r := range rows {
				change(r)
			}
			found = len(rows)
			saved, err = t.save(ctx, tx, rows)
			return err
		})
		if err != nil || found < q.Limit || saved == 0 {
			return err
		}
	}
}

// save saves what it can and says how many: a stale row was taken by another process, all
// the better.
func (t Table[R]) save(ctx context.Context, tx storage.Tx, rows []*R) (int, error) {
	err := t.Rows.Save(ctx, tx, rows...)
	if stale := (*storage.StaleError)(nil); errors.As(err, &stale) {
		lost := map[int]bool{}
		for _, i := range stale.Rows {
			lost[i] = true
		}
		var saved []*R
		for i, r := range rows {
			if !lost[i] {
				saved = append(saved, r)
			}
		}
		rows, err = saved, nil
	}
	if err == nil && t.Saved != nil && len(rows) > 0 {
		err = t.Saved(ctx, tx, rows)
	}
	return len(rows), err
}
