package memory

import (
	"context"
	"slices"
	"time"

	"github.com/belfry-go/belfry/storage"
)

// Claim walks each lane's due order from its cursor until it has enough rows.
func (t *tx) Claim(ctx context.Context, s *storage.Schema, c storage.Claim) ([]storage.Row, error) {
	tab, err := t.table(ctx, s)
	if err != nil {
		return nil, err
	}
	c.Now, c.LeaseUntil = storage.Time(c.Now), storage.Time(c.LeaseUntil)
	var taken []*entry
	for _, l := range c.Lanes {
		want := len(taken) + l.Limit
		tab.walk(l, c.Now, func(e *entry) bool {
			if len(taken) >= want {
				return false
			}
			if e.call != t.call && tab.claimable(e.img, &c, c.Now) {
				e.call = t.call
				taken = append(taken, e)
			}
			return true
		})
	}
	rows, part := make([]storage.Row, len(taken)), tab.shape.part(s)
	for i, e := range taken {
		t.write(tab, e, tab.claimed(e.img, &c))
		if rows[i], err = tab.shape.load(e.img); err != nil {
			return nil, t.fail(err)
		}
		part.leaveOut(rows[i])
	}
	return rows, nil
}

// claimed is the image of a row that c takes.
func (t *table) claimed(old *image, c *storage.Claim) *image {
	img := t.shape.next(old)
	img.rec.Version++
	img.rec.Abandoned = !old.rec.LeaseExpiresOn.IsZero()
	img.rec.LeaseExpiresOn = c.LeaseUntil
	img.rec.ClaimToken = c.Token
	if c.Busy != "" {
		img.rec.Status = c.Busy
	}
	return img
}

// walk calls f for the rows of a lane behind its cursor that are due by now,
// in order, until f returns false.
func (t *table) walk(l storage.LaneClaim, now time.Time, f func(*entry) bool) {
	tree := t.due[l.Lane]
	if tree == nil {
		return
	}
	after := &entry{due: l.After.DueOn.UnixMicro(), id: l.After.ID}
	last := now.UnixMicro()
	tree.Ascend(after, func(e *entry) bool {
		if e.due > last {
			return false
		}
		if !earlier(after, e) {
			return true
		}
		return f(e)
	})
}

// claimable says whether c takes a due row at the moment now.
func (t *table) claimable(img *image, c *storage.Claim, now time.Time) bool {
	r := img.rec
	if r.LeaseExpiresOn.IsZero() {
		if !slices.Contains(c.Statuses, r.Status) {
			return false
		}
	} else if r.LeaseExpiresOn.After(now) {
		return false
	}
	if c.Types != nil && !slices.Contains(c.Types, r.Type) {
		return false
	}
	return !slices.Contains(c.Except, r.Scope) &&
		!slices.Contains(c.ExceptTypes, storage.ScopedType{Scope: r.Scope, Type: r.Type}) &&
		!t.isOf(img, c.ExceptKinds)
}

// isOf reports whether a row has one of the names.
func (t *table) isOf(img *image, k storage.Kinds) bool {
	if k.Column == "" {
		return false
	}
	name := *t.shape.schema.Column(k.Column).Text(storage.FieldsOf(img.row))
	return slices.Contains(k.Names, name) || slices.Contains(k.Scoped, storage.ScopedType{Scope: img.rec.Scope, Type: name})
}

// next is the earliest DueOn that c would claim by the horizon.
func (t *table) next(c storage.Claim, horizon time.Time) time.Time {
	var first time.Time
	for _, l := range c.Lanes {
		t.walk(l, horizon, func(e *entry) bool {
			if !t.claimable(e.img, &c, horizon) {
				return true
			}
			if due := e.img.rec.DueOn; first.IsZero() || due.Before(first) {
				first = due
			}
			return false
		})
	}
	return first
}
