// Package forget deletes rows that ended long ago, in bounded pages, and leaves a stub
// of each wish that could be asked for again: its key stays, so that nothing is ever
// sent again because it was forgotten. A domain says what is particular to its tables in
// a [Spec] each; one pass walks them all.
package forget

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// Verdict is what becomes of a row that is old enough.
type Verdict int

// The verdicts.
const (
	Keep   Verdict = iota // it is old, and stays as it is
	Young                 // it is not old after all
	Shrink                // a stub stays
	Delete                // it goes
)

// Spec says how the rows of one table are forgotten.
type Spec[R any] struct {
	Table *driver.Table[R]
	// By is the field of belfry.Retention that says for how long rows stay.
	By string
	// Created is the column with the moment at which a row was made. Rows are about as
	// old as their ids, so a walk ends at one that is too young.
	Created func(*R) time.Time
	// After is how long rows stay at least, where the option says keep (zero: nothing);
	// zero: for ever. Nil: the option alone says so.
	After func(keep time.Duration) time.Duration
	// Old describes the rows that may have ended by a moment.
	Old func(before time.Time) []driver.Cond
	// Judge decides about such rows; nil: all go.
	Judge func(ctx context.Context, from driver.Reader, at At, rows []*R) ([]Verdict, error)
	// Stubs makes the stubs; nil: there are none.
	Stubs *driver.Stubs[R]
	// Trim takes from a row what its stub does not keep of the columns that it does, or
	// marks it; nil: nothing.
	Trim func(*R)
	// Archive is given what is about to go, outside a transaction, and says which rows
	// stay since they could not be archived, and why; nil: nothing is archived.
	Archive func(ctx context.Context, rows []*R) (stay map[*R]bool, err error)
}

// At is the moment of a walk.
type At struct {
	Now time.Time
	// Keep is for how long rows stay by the option; zero: it does not say so.
	Keep time.Duration
	// Before is the moment by which whatever goes has ended.
	Before time.Time
}

// at is the moment of a walk, by the option.
func (r Rule) at(now time.Time, keep time.Duration) At {
	return At{Now: now, Keep: keep, Before: now.Add(-r.after(keep))}
}

// Rule is a [Spec] without its type.
type Rule struct {
	// Table is its name, By the field of belfry.Retention.
	Table, By string
	after     func(keep time.Duration) time.Duration
	plan      func(ctx context.Context, store storage.Store, at At, after int64, dry bool) (Step, error)
	hasOld    func(ctx context.Context, from driver.Reader, before time.Time) (bool, error)
}

// Page is how many rows a step takes at most, and span of how many ids.
const (
	Page = 450
	span = 5000
	// most is how many rows a transaction writes at most, blobs and their owners among
	// them, but for the place of the walk, and for one row that owns more.
	most = 950
)

// Step is what a walk found behind an id, and has archived.
type Step struct {
	// Next is where the walk goes on; zero: it is over.
	Next int64
	// Kept rows are old enough and stay, for their key may be asked for.
	Kept int
	// Unarchived rows stay, since Archive failed for them, with Refused.
	Unarchived int
	Refused    error
	// Found is what would go.
	Found Counts
	apply func(ctx context.Context, tx storage.Tx) (Counts, error)
}

// Counts are of rows that were forgotten.
type Counts struct{ Stubs, Deleted int }

// Any reports whether there is anything.
func (c Counts) Any() bool { return c != Counts{} }

// Add sums counts.
func (c Counts) Add(o Counts) Counts { return Counts{c.Stubs + o.Stubs, c.Deleted + o.Deleted} }

// Now walks a whole table at once, whatever was announced, and tells what it did also
// where there is an error: that of an Archive, or one that ended the walk. A dry one
// tells what would go.
func (r Rule) Now(ctx context.Context, store storage.Store, keep time.Duration, dry bool) (sum Step, err error) {
	at := r.at(driver.Now(store), keep)
	if r.after(keep) <= 0 {
		return sum, nil
	}
	for {
		step, err := r.plan(ctx, store, at, sum.Next, dry)
		if err != nil {
			return sum, err
		}
		done := step.Found
		if !dry && done.Any() {
			err = store.InTx(ctx, func(tx storage.Tx) (err error) {
				done, err = step.write(ctx, tx)
				return err
			})
			if err != nil {
				return sum, err
			}
		}
		sum.Found, sum.Kept, sum.Unarchived = sum.Found.Add(done), sum.Kept+step.Kept, sum.Unarchived+step.Unarchived
		sum.Refused = errors.Join(sum.Refused, step.Refused)
		if sum.Next = step.Next; sum.Next == 0 {
			return sum, sum.Refused
		}
	}
}

// Of is the rule of a table.
func Of[R any](s Spec[R]) Rule {
	if s.After == nil {
		s.After = func(keep time.Duration) time.Duration { return keep }
	}
	return Rule{
		Table: s.Table.Name, By: s.By, after: s.After,
		plan: s.plan,
		hasOld: func(ctx context.Context, from driver.Reader, before time.Time) (bool, error) {
			first, err := s.Table.Everywhere().Find(ctx, from, driver.Query{Limit: 1})
			return err == nil && len(first) > 0 && s.Created(first[0]).Before(before), err
		},
	}
}

// write does what was found, and tells what is gone: rows that somebody wrote since stay
// as they are.
func (s Step) write(ctx context.Context, tx storage.Tx) (Counts, error) {
	if s.apply == nil {
		return Counts{}, nil
	}
	return s.apply(ctx, tx)
}

// plan looks at the next rows behind an id. A dry one archives nothing.
func (s *Spec[R]) plan(ctx context.Context, store storage.Store, at At, after int64, dry bool) (Step, error) {
	var step Step
	var shrink, gone []*R
	var owned map[driver.Place]storage.Owned
	err := store.View(ctx, func(from driver.Reader) (err error) {
		step, shrink, gone = Step{}, nil, nil
		rows, next, err := s.page(ctx, from, at, after)
		if step.Next = next; err != nil || len(rows) == 0 {
			return err
		}
		verdicts, err := s.judge(ctx, from, at, rows)
		if err != nil {
			return err
		}
		if owned, err = s.owned(ctx, from, rows, verdicts); err != nil {
			return err
		}
		written := 0
		for i, r := range rows {
			if verdicts[i] == Shrink || verdicts[i] == Delete {
				n := 1 + 2*len(owned[s.Table.PlaceOf(r)].Refs)
				if written > 0 && written+n > most {
					step.Next = s.Table.Record(rows[i-1]).ID
					return nil
				}
				written += n
			}
			switch verdicts[i] {
			case Shrink:
				shrink = append(shrink, r)
			case Delete:
				gone = append(gone, r)
			case Keep:
				step.Kept++
			case Young:
			}
		}
		return nil
	})
	if err != nil {
		return Step{}, err
	}
	if s.Archive != nil && !dry && len(shrink)+len(gone) > 0 {
		stay, err := s.Archive(ctx, slices.Concat(shrink, gone))
		step.Unarchived, step.Refused = len(stay), err
		shrink = slices.DeleteFunc(shrink, func(r *R) bool { return stay[r] })
		gone = slices.DeleteFunc(gone, func(r *R) bool { return stay[r] })
	}
	step.Found = Counts{len(shrink), len(gone)}
	step.apply = func(ctx context.Context, tx storage.Tx) (Counts, error) { return s.apply(ctx, tx, shrink, gone, owned) }
	return step, nil
}

func (s *Spec[R]) judge(ctx context.Context, from driver.Reader, at At, rows []*R) ([]Verdict, error) {
	if s.Judge != nil {
		return s.Judge(ctx, from, at, rows)
	}
	all := make([]Verdict, len(rows))
	for i := range all {
		all[i] = Delete
	}
	return all, nil
}

// owned are the blobs of those rows that are to be forgotten.
func (s *Spec[R]) owned(ctx context.Context, from driver.Reader, rows []*R, verdicts []Verdict) (map[driver.Place]storage.Owned, error) {
	var places []driver.Place
	for i, r := range rows {
		if verdicts[i] == Shrink || verdicts[i] == Delete {
			places = append(places, s.Table.PlaceOf(r))
		}
	}
	return driver.OwnedBy(ctx, from, s.Table.Name, places...)
}

// page reads the old rows of the next ids, and where to go on: along the primary key,
// since an index over ended rows would cost every settling more than a daily walk.
func (s *Spec[R]) page(ctx context.Context, from driver.Reader, at At, after int64) (rows []*R, next int64, err error) {
	first, err := s.Table.Everywhere().Find(ctx, from, driver.Query{Where: []driver.Cond{driver.Greater("id", after)}, Limit: 1})
	if err != nil || len(first) == 0 || s.Created(first[0]).After(at.Before) {
		return nil, 0, err
	}
	begin := s.Table.Record(first[0]).ID
	next = begin + span - 1
	where := append([]driver.Cond{driver.AtLeast("id", begin), driver.AtMost("id", next)}, s.Old(at.Before)...)
	rows, err = s.Table.Everywhere().Find(ctx, from, driver.Query{Where: where, Limit: Page})
	if len(rows) == Page {
		next = s.Table.Record(rows[len(rows)-1]).ID
	}
	return rows, next, err
}

// apply shrinks and deletes copies, for the transaction may run again, and releases what
// they own.
func (s *Spec[R]) apply(ctx context.Context, tx storage.Tx, shrink, gone []*R, owned map[driver.Place]storage.Owned) (done Counts, err error) {
	stubs, err := written(shrink, func(rows []*R) error { return s.shrink(ctx, tx, rows) })
	if err != nil {
		return Counts{}, err
	}
	deleted, err := written(gone, func(rows []*R) error { return s.Table.Delete(ctx, tx, rows...) })
	if err != nil {
		return Counts{}, err
	}
	var released []storage.Owned
	for _, r := range slices.Concat(stubs, deleted) {
		if o, ok := owned[s.Table.PlaceOf(r)]; ok {
			released = append(released, o)
		}
	}
	return Counts{len(stubs), len(deleted)}, driver.Release(ctx, tx, released...)
}

func (s *Spec[R]) shrink(ctx context.Context, tx storage.Tx, rows []*R) error {
	for _, r := range rows {
		if s.Trim != nil {
			s.Trim(r)
		}
	}
	return s.Stubs.Save(ctx, tx, rows...)
}

// written writes copies of rows, and tells which rows were.
func written[R any](rows []*R, write func([]*R) error) (done []*R, err error) {
	if len(rows) == 0 {
		return nil, nil
	}
	again := make([]*R, len(rows))
	for i, r := range rows {
		r := *r
		again[i] = &r
	}
	lost := map[int]bool{}
	err = write(again)
	if stale := (*storage.StaleError)(nil); errors.As(err, &stale) {
		err = nil
		for _, i := range stale.Rows {
			lost[i] = true
		}
	}
	for i, r := range rows {
		if !lost[i] {
			done = append(done, r)
		}
	}
	return done, err
}
