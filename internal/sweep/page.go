package sweep

import (
	"context"
	"errors"
	"slices"

	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

const (
	// Page is how many old rows a step takes at most, and span of how many ids.
	Page = 450
	span = 5000
	// page is how many rows a way to a person finds at once.
	page = 300
	// most is how many rows a transaction writes at most, blobs and their owners among
	// them, but for the place behind it, and for one row that owns more.
	most = 950
)

// pager finds the pages of one rule, and writes them.
type pager[R any] struct {
	table *driver.Table[R]
	// find reads the next rows of a way behind an id, with what is to become of them as far
	// as it can tell, and where to go on; zero: the way is over.
	find func(ctx context.Context, from driver.Reader, at At, way int, after int64) ([]*found[R], int64, error)
	// judge decides outside a transaction; nil: find has decided.
	judge      func(ctx context.Context, at At, r *R) (Fate, error)
	archive    func(ctx context.Context, rows []*R) (stay map[*R]bool, err error)
	stubs      *driver.Tombstones[R]
	trim       func(*R)
	cut        func(ctx context.Context, tx storage.Tx, rows []*R) error
	audited    bool
	emptiesCut bool // what is cut is emptied, for the audit
	byID       bool // find goes on behind any id, and rows are in their order
	weight     int  // rows that are written for one
}

// found is a row with what becomes of it, and the blobs that it owns.
type found[R any] struct {
	row *R
	Fate
	owned storage.Owned
}

// deleted has all rows go.
func deleted[R any](rows []*R) []*found[R] {
	out := make([]*found[R], len(rows))
	for i, r := range rows {
		out[i] = &found[R]{row: r, Fate: Fate{Verdict: Delete}}
	}
	return out
}

func (f *found[R]) written() bool {
	return f.Verdict == Delete || f.Verdict == Empty || f.Verdict == Cut
}

// planned is a step: what was found behind an id, and how to write it.
type planned struct {
	next  int64 // where to go on; zero: the way is over
	again bool  // there is more to be done of the same page
	found map[int64]Verdict
	// unarchived rows stay, since they could not be archived, for refused.
	unarchived int
	refused    error
	write      func(ctx context.Context, tx storage.Tx) (applied, error)
}

// count says what would become of the rows.
func (s planned) count() (c Count) {
	for _, v := range s.found {
		c.count(v)
	}
	return c
}

// with are the ids of rows with a verdict.
func (s planned) with(v Verdict) (ids []int64) {
	for id, is := range s.found {
		if is == v {
			ids = append(ids, id)
		}
	}
	return ids
}

// applied is what a transaction did of a step.
type applied struct {
	done Count
	lost []int64 // ids of rows that were written since
	// first says that something else had to be done first: the step is to be taken again.
	first bool
}

// plan looks at the next rows of a way: as many as one transaction can write.
func (p *pager[R]) plan(ctx context.Context, store storage.Store, at At, way int, after int64) (planned, error) {
	step, rows := planned{found: map[int64]Verdict{}}, []*found[R](nil)
	err := store.View(ctx, func(from driver.Reader) (err error) {
		if rows, step.next, err = p.find(ctx, from, at, way, after); err != nil {
			return err
		}
		return p.own(ctx, from, rows)
	})
	if err != nil {
		return planned{}, err
	}
	total := 0
	for i, f := range rows {
		if p.judge != nil {
			if f.Fate, err = p.judge(ctx, at, f.row); err != nil {
				return planned{}, err
			}
		}
		n := p.writes(f)
		if n > 0 && total > 0 && total+n > most && !at.Dry {
			rows, step.next, step.again = rows[:i], after, true // what is written now is not found again
			if p.byID {
				step.next, step.again = p.table.Record(rows[i-1].row).ID, false
			}
			break
		}
		total += n
	}
	if p.archive != nil && !at.Dry {
		p.archived(ctx, rows, &step)
	}
	for _, f := range rows {
		step.found[p.table.Record(f.row).ID] = f.Verdict
	}
	step.write = func(ctx context.Context, tx storage.Tx) (applied, error) { return p.write(ctx, tx, rows) }
	return step, nil
}

// own finds the blobs of rows that may be written.
func (p *pager[R]) own(ctx context.Context, from driver.Reader, rows []*found[R]) error {
	var places []driver.ScopedKey
	for _, f := range rows {
		if f.written() {
			places = append(places, p.table.ScopedKeyOf(f.row))
		}
	}
	owned, err := driver.OwnedBy(ctx, from, p.table.Name, places...)
	for _, f := range rows {
		f.owned = owned[p.table.ScopedKeyOf(f.row)]
	}
	return err
}

// writes is how many rows are written for one.
func (p *pager[R]) writes(f *found[R]) int {
	switch {
	case !f.written():
		return 0
	case f.Verdict == Cut:
		return p.weight + 2*len(f.Keep) + 2*len(f.Release)
	}
	return p.weight + 2*len(f.owned.Refs)
}

// archived gives what is about to go to the archive. What it refuses waits.
func (p *pager[R]) archived(ctx context.Context, rows []*found[R], step *planned) {
	var going []*R
	for _, f := range rows {
		if f.written() {
			going = append(going, f.row)
		}
	}
	if len(going) == 0 {
		return
	}
	stay, err := p.archive(ctx, going)
	for _, f := range rows {
		if stay[f.row] {
			f.Verdict = Wait
		}
	}
	step.unarchived, step.refused = len(stay), err
}

// write writes copies, for the transaction may run again. Rows that were written since
// are left as they are.
func (p *pager[R]) write(ctx context.Context, tx storage.Tx, rows []*found[R]) (out applied, err error) {
	if out.first, err = p.forgetDeeds(ctx, tx, rows); err != nil || out.first {
		return out, err
	}
	if err := tx.Store().Blobs().Keep(ctx, tx, p.kept(rows)...); err != nil {
		return out, err
	}
	var release []storage.Owned
	for _, v := range []Verdict{Delete, Empty, Cut} {
		some := slices.DeleteFunc(slices.Clone(rows), func(f *found[R]) bool { return f.Verdict != v })
		missed, err := p.tolerant(ctx, tx, v, some)
		if err != nil {
			return applied{}, err
		}
		for i, f := range some {
			if missed[i] {
				out.lost = append(out.lost, p.table.Record(f.row).ID)
				continue
			}
			out.done.count(v)
			if v == Cut {
				release = append(release, p.owner(f, f.Release))
			} else {
				release = append(release, f.owned)
			}
		}
	}
	return out, driver.Release(ctx, tx, release...)
}

// tolerant writes copies of rows, and returns which were written by others.
func (p *pager[R]) tolerant(ctx context.Context, tx storage.Tx, v Verdict, rows []*found[R]) (missed map[int]bool, err error) {
	if len(rows) == 0 {
		return nil, nil
	}
	copies := make([]*R, len(rows))
	for i, f := range rows {
		r := *f.row
		copies[i] = &r
	}
	switch v {
	case Delete:
		err = p.table.Delete(ctx, tx, copies...)
	case Empty:
		for _, r := range copies {
			if p.trim != nil {
				p.trim(r)
			}
		}
		err = p.stubs.Save(ctx, tx, copies...)
	default:
		err = p.cut(ctx, tx, copies)
	}
	if stale := (*storage.StaleError)(nil); errors.As(err, &stale) {
		missed, err = map[int]bool{}, nil
		for _, i := range stale.Rows {
			missed[i] = true
		}
	}
	return missed, err
}

// kept are the blobs that rows which are cut name from now on.
func (p *pager[R]) kept(rows []*found[R]) (out []storage.Owned) {
	for _, f := range rows {
		if f.Verdict == Cut {
			out = append(out, p.owner(f, f.Keep))
		}
	}
	return out
}

func (p *pager[R]) owner(f *found[R], refs []storage.Ref) storage.Owned {
	at := p.table.ScopedKeyOf(f.row)
	return storage.Owned{Scope: at.Scope, Table: p.table.Name, Key: at.Key, Refs: refs}
}

// forgetDeeds takes what people did to rows out of the audit, and reports whether there
// was anything: it fills a transaction of its own.
func (p *pager[R]) forgetDeeds(ctx context.Context, tx storage.Tx, rows []*found[R]) (some bool, err error) {
	if !p.audited || len(rows) == 0 {
		return false, nil
	}
	var keys []string
	for _, f := range rows {
		if f.Verdict == Delete || f.Verdict == Empty || f.Verdict == Cut && p.emptiesCut {
			keys = append(keys, p.table.ScopedKeyOf(f.row).Key)
		}
	}
	return audit.Forget(ctx, tx, p.table.Record(rows[0].row).Scope, p.table.Name, keys...)
}
