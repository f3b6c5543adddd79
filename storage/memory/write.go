package memory

import (
	"context"
	"time"

	"github.com/belfry-go/belfry/storage"
)

// Insert adds the rows whose scope and key are free.
func (t *tx) Insert(ctx context.Context, s *storage.Schema, rows []storage.Row) ([]bool, error) {
	tab, err := t.table(ctx, s)
	if err != nil {
		return nil, err
	}
	inserted := make([]bool, len(rows))
	for i, r := range rows {
		rec := storage.RecordOf(r)
		if tab.byKey[identity{rec.Scope, rec.Key}] != nil {
			continue
		}
		img, err := tab.shape.image(r, nil)
		if err != nil {
			return nil, t.fail(err)
		}
		tab.lastID++
		img.rec.ID, img.rec.Version = tab.lastID, 1
		t.write(tab, &entry{id: tab.lastID, due: never, lane: rec.Lane}, img)
		t.tell(rec, tab.lastID, 1)
		t.hints.Add(s, rows[i:i+1])
		inserted[i] = true
	}
	return inserted, nil
}

// Update swaps the rows whose version is still the stored one. Of a row given
// twice only the first is written.
func (t *tx) Update(ctx context.Context, s *storage.Schema, rows []storage.Row) ([]bool, error) {
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
		img, err := tab.shape.image(r, e.img)
		if err != nil {
			return nil, t.fail(err)
		}
		part.keep(img, e.img)
		img.rec.Version++
		t.write(tab, e, img)
		t.tell(storage.RecordOf(r), e.id, img.rec.Version)
		t.hints.Add(s, rows[i:i+1])
	}
	return stale, nil
}

// current returns the place of r if r is its stored version and this call did
// not write it already.
func (t *tx) current(tab *table, r storage.Row) *entry {
	rec := storage.RecordOf(r)
	e := tab.byID[rec.ID]
	if e == nil || e.img.rec.Version != rec.Version || e.call == t.call {
		return nil
	}
	e.call = t.call
	return e
}

// Extend moves leases and nothing else, neither the version nor the structs.
func (t *tx) Extend(ctx context.Context, s *storage.Schema, rows []storage.Row, until time.Time) ([]bool, error) {
	tab, err := t.table(ctx, s)
	if err != nil {
		return nil, err
	}
	until = storage.Time(until)
	lost := make([]bool, len(rows))
	for i, r := range rows {
		rec := storage.RecordOf(r)
		e := tab.byID[rec.ID]
		if e == nil || e.img.rec.LeaseExpiresOn.IsZero() || e.img.rec.ClaimToken != rec.ClaimToken {
			lost[i] = true
			continue
		}
		img := tab.shape.next(e.img)
		img.rec.LeaseExpiresOn = until
		t.write(tab, e, img)
	}
	return lost, nil
}

// Delete removes the rows whose version is still the stored one.
func (t *tx) Delete(ctx context.Context, s *storage.Schema, rows []storage.Row) ([]bool, error) {
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
