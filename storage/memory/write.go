package memory

import (
	"context"
	"slices"
	"time"

	"github.com/belfry-go/belfry/storage/driver"
)

// Claim walks each lane's due order from its cursor until it has enough rows.
func (t *tx) Claim(ctx context.Context, s *driver.Schema, c driver.Claim) ([]driver.Row, error) {
	tab, err := t.table(ctx, s)
	if err != nil {
		return nil, err
	}
	c.Now, c.LeaseUntil = driver.Time(c.Now), driver.Time(c.LeaseUntil)
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
	rows, part := make([]driver.Row, len(taken)), tab.shape.part(s)
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
func (t *table) claimed(old *image, c *driver.Claim) *image {
	img := t.shape.next(old)
	img.rec.Version++
	img.due.Abandoned = !old.due.LeaseExpiresOn.IsZero()
	img.due.LeaseExpiresOn = c.LeaseUntil
	img.due.ClaimToken = c.Token
	if c.Busy != "" {
		img.rec.Status = c.Busy
	}
	return img
}

// walk calls f for the rows of a lane behind its cursor that are due by now,
// in order, until f returns false.
func (t *table) walk(l driver.LaneClaim, now time.Time, f func(*entry) bool) {
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
func (t *table) claimable(img *image, c *driver.Claim, now time.Time) bool {
	r := img.due
	if r.LeaseExpiresOn.IsZero() {
		if !slices.Contains(c.Statuses, r.Status) {
			return false
		}
	} else if r.LeaseExpiresOn.After(driver.Time(c.ExpiredBy(now))) {
		return false
	}
	if c.Kinds != nil && !slices.Contains(c.Kinds, r.Kind) {
		return false
	}
	if c.Scopes != nil && !slices.Contains(c.Scopes, r.Scope) {
		return false
	}
	return !slices.Contains(c.Except, r.Scope) &&
		!slices.Contains(c.ExceptKinds, driver.ScopedKind{Scope: r.Scope, Kind: r.Kind}) &&
		!t.isOf(img, c.ExceptNames)
}

// isOf reports whether a row has one of the names.
func (t *table) isOf(img *image, k driver.Names) bool {
	if k.Column == "" {
		return false
	}
	name := *t.shape.schema.Column(k.Column).Text(driver.FieldsOf(img.row))
	return slices.Contains(k.Names, name) || slices.Contains(k.Scoped, driver.ScopedKind{Scope: img.rec.Scope, Kind: name})
}

// next tells where the first rows are that c would claim by the horizon, by lane.
func (t *table) next(c driver.Claim, horizon time.Time) []driver.Cursor {
	first := make([]driver.Cursor, len(c.Lanes))
	for i, l := range c.Lanes {
		t.walk(l, horizon, func(e *entry) bool {
			if !t.claimable(e.img, &c, horizon) {
				return true
			}
			first[i] = driver.Cursor{DueOn: e.img.due.DueOn, ID: e.id}
			return false
		})
	}
	return first
}

// Insert adds the rows whose scope and key are free.
func (t *tx) Insert(ctx context.Context, s *driver.Schema, rows []driver.Row) ([]bool, error) {
	tab, err := t.table(ctx, s)
	if err != nil {
		return nil, err
	}
	inserted := make([]bool, len(rows))
	for i, r := range rows {
		rec := driver.RecordOf(r)
		if tab.byKey[driver.ScopedKey{Scope: rec.Scope, Key: rec.Key}] != nil {
			continue
		}
		img, err := tab.shape.image(r, nil, nil)
		if err != nil {
			return nil, t.fail(err)
		}
		version := int64(1)
		if s.Versioned {
			version = rec.Version
		}
		tab.lastID++
		img.rec.ID, img.rec.Version = tab.lastID, version
		e := &entry{id: tab.lastID, due: never}
		if img.due != nil {
			e.lane = img.due.Lane
		}
		t.write(tab, e, img)
		t.tell(rec, tab.lastID, version)
		t.hints.Add(s, rows[i:i+1])
		inserted[i] = true
	}
	return inserted, nil
}

// Update swaps the rows whose version is still the stored one. Of a row given
// twice only the first is written.
func (t *tx) Update(ctx context.Context, s *driver.Schema, rows []driver.Row) ([]bool, error) {
	tab, err := t.table(ctx, s)
	if err != nil {
		return nil, err
	}
	part := tab.shape.part(s)
	stale := make([]bool, len(rows))
	for i, r := range rows {
		e := t.current(tab, r)
		if e == nil {
			stale[i] = true
			continue
		}
		img, err := tab.shape.image(r, e.img, part.rewritten)
		if err != nil {
			return nil, t.fail(err)
		}
		part.keep(img, e.img)
		img.rec.Version++
		t.write(tab, e, img)
		t.tell(driver.RecordOf(r), e.id, img.rec.Version)
		t.hints.Add(s, rows[i:i+1])
	}
	return stale, nil
}

// current returns the place of r if r is its stored version and this call did
// not write it already.
func (t *tx) current(tab *table, r driver.Row) *entry {
	rec := driver.RecordOf(r)
	e := tab.byID[rec.ID]
	if e == nil || e.img.rec.Version != rec.Version || e.call == t.call {
		return nil
	}
	e.call = t.call
	return e
}

// Extend moves leases and nothing else, neither the version nor the structs.
func (t *tx) Extend(ctx context.Context, s *driver.Schema, rows []driver.Row, until time.Time) ([]bool, error) {
	tab, err := t.table(ctx, s)
	if err != nil {
		return nil, err
	}
	until = driver.Time(until)
	lost := make([]bool, len(rows))
	for i, r := range rows {
		due := driver.DueOf(r)
		e := tab.byID[due.ID]
		if e == nil || e.img.due.LeaseExpiresOn.IsZero() || e.img.due.ClaimToken != due.ClaimToken {
			lost[i] = true
			continue
		}
		img := tab.shape.next(e.img)
		img.due.LeaseExpiresOn = until
		t.write(tab, e, img)
	}
	return lost, nil
}

// Delete removes the rows whose version is still the stored one.
func (t *tx) Delete(ctx context.Context, s *driver.Schema, rows []driver.Row) ([]bool, error) {
	tab, err := t.table(ctx, s)
	if err != nil {
		return nil, err
	}
	stale := make([]bool, len(rows))
	for i, r := range rows {
		e := t.current(tab, r)
		if e == nil {
			stale[i] = true
			continue
		}
		t.write(tab, e, nil)
	}
	return stale, nil
}
