package sweep

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// Verdict is what becomes of a row that was found.
type Verdict int

// The verdicts.
const (
	Leave  Verdict = iota // there is nothing of the person in it, or it stays
	Delete                // it goes
	Empty                 // its key stays
	Cut                   // the person's part goes, as Judge has changed the row
	Wait                  // a worker has it: it is looked at again later
)

// Fate is a verdict, with the blobs that a row which is cut names from now on, and no
// longer. What goes or is emptied owns none.
type Fate struct {
	Verdict
	Keep, Release []storage.Ref
}

// At is the moment of a look.
type At struct {
	Now time.Time
	Dry bool // nothing is written, not even a blob
}

// Spec says how what a table knows of a person is found and erased.
type Spec[R any] struct {
	Table *driver.Table[R]
	// Ways are those by which rows are found. A row that was erased is not found again, or
	// is left.
	Ways func(Subject) []Way[R]
	// Stay leaves all rows as they are: they are found to be shown.
	Stay bool
	// Judge says what becomes of a row, which it may change. It is called outside a
	// transaction, so that it may read and write blobs. Nil: all rows go, unless they Stay.
	Judge func(ctx context.Context, s Subject, at At, r *R) (Fate, error)
	// Empties makes what is left of a row; nil: none is emptied.
	Empties *driver.Stubs[R]
	// Rewrites writes rows that are cut, CutFrom are its columns that tell of people.
	Rewrites *driver.Rewriting[R]
	CutFrom  []string
	// Keeps are columns that tell of people and stay in a row that does, and why.
	Keeps map[string]string
	// Write erases rows that are cut in a way of the domain's own, in the place of Rewrites;
	// Most is how many of them one transaction takes, 300 if it is zero.
	Write func(ctx context.Context, tx storage.Tx, rows []*R) error
	Most  int
	// With names the table whose rows these go with: they are found to be shown.
	With string
	// Audited says that people act on rows, so that what the audit says of it goes, too.
	Audited bool
	// Show leaves of a row what is the person's, and says whether anything is; nil: all is.
	Show func(ctx context.Context, s Subject, r *R) (bool, error)
}

// page is how many rows a way finds at once, and most how many one transaction writes of
// them: with two blobs each and the row of the erasure itself fewer than 1,000.
const (
	page = 300
	most = 300
)

// Stays is the rule of a table that nothing of is erased, though some of its columns tell
// of people.
func Stays[R any](t *driver.Table[R], keeps map[string]string) Rule {
	return Of(Spec[R]{
		Table: t, Keeps: keeps, Stay: true, Ways: func(Subject) []Way[R] { return nil },
	})
}

// Rule is a [Spec] without its type.
type Rule struct {
	Schema  *driver.Schema
	Keeps   map[string]string
	empties func(column string) bool
	cutFrom []string
	how     string
	ways    func(Subject) int
	plan    func(ctx context.Context, store storage.Store, s Subject, at At, way int, after int64) (Step, error)
	show    func(ctx context.Context, store storage.Store, s Subject, way int, after int64) (rows []driver.Row, next int64, err error)
}

// Table is the name of the rule's table.
func (r Rule) Table() string { return r.Schema.Name }

// Treats says what becomes of a column that tells of people; empty: nothing does.
func (r Rule) Treats(column string) string {
	switch {
	case r.Keeps[column] != "":
		return "kept: " + r.Keeps[column]
	case r.empties(column):
		return "emptied"
	}
	if slices.Contains(r.cutFrom, column) {
		return "cut"
	}
	return ""
}

// How says what becomes of rows, for the page of lifecycles.
func (r Rule) How() string { return r.how }

func (s *Spec[R]) how() string {
	var says []string
	switch {
	case s.Stay:
		for _, column := range slices.Sorted(maps.Keys(s.Keeps)) {
			says = append(says, s.Keeps[column])
		}
		return "stays: " + strings.Join(slices.Compact(says), "; ")
	case s.With != "":
		return "deleted with `" + s.With + "`"
	case s.Write != nil:
		return "emptied, but for its key"
	case s.Empties != nil:
		says = append(says, "emptied, but for its key")
	case s.Rewrites == nil:
		says = append(says, "deleted")
	}
	if s.Rewrites != nil {
		says = append(says, "the person's part where others have one")
	}
	return strings.Join(says, "; ")
}

// Of is the rule of a table.
func Of[R any](s Spec[R]) Rule {
	return Rule{
		Schema: &s.Table.Schema, Keeps: s.Keeps, how: s.how(), cutFrom: s.CutFrom,
		empties: func(column string) bool {
			if s.Empties != nil {
				return s.Empties.Empties(column)
			}
			return s.Rewrites == nil && s.Write == nil && !s.Stay // the row goes
		},
		ways: func(of Subject) int { return len(s.ways(of)) },
		plan: s.plan, show: s.shown,
	}
}

// ways are those of the table, and that to the rows which the last sweep had to leave: what
// had led to them may be erased.
func (s *Spec[R]) ways(of Subject) []Way[R] {
	all := s.Ways(of)
	if ids := of.again[s.Table.Name]; len(ids) > 0 {
		all = append(all, By(s.Table, of.Scope, driver.In("id", ids)))
	}
	return all
}

// Step is what a way found behind an id.
type Step struct {
	Next  int64 // where the way goes on; zero: it is over
	again bool  // there is more to be written of the same page
	found map[int64]Verdict
	// waiting are the ids of rows that are looked at again later.
	waiting []int64
	apply   func(ctx context.Context, tx storage.Tx) (applied, error)
}

// applied is what a transaction did of a step.
type applied struct {
	done Count
	lost []int64 // ids of rows that somebody wrote since
	// first says that something else had to be done first: the step is to be taken again.
	first bool
}

// plan looks at the next rows of a way.
func (s *Spec[R]) plan(ctx context.Context, store storage.Store, of Subject, at At, way int, after int64) (Step, error) {
	var rows []*R
	step := Step{found: map[int64]Verdict{}}
	err := store.View(ctx, func(from driver.Reader) (err error) {
		rows, step.Next, err = s.ways(of)[way](ctx, from, after)
		return err
	})
	if err != nil {
		return Step{}, err
	}
	var w written[R]
	for _, r := range rows {
		if w.rows() >= cmp.Or(s.Most, most) && !at.Dry {
			step.Next, step.again = after, true // what is written now is not found again
			break
		}
		fate := Fate{Verdict: Delete}
		switch {
		case s.Stay || s.With != "":
			fate.Verdict = Leave
		case s.Judge != nil:
			if fate, err = s.Judge(ctx, of, at, r); err != nil {
				return Step{}, err
			}
		}
		w.add(fate, s.Table.PlaceOf(r), s.Table.Name, r)
		step.found[s.Table.Record(r).ID] = fate.Verdict
		if fate.Verdict == Wait {
			step.waiting = append(step.waiting, s.Table.Record(r).ID)
		}
	}
	step.apply = func(ctx context.Context, tx storage.Tx) (applied, error) { return s.apply(ctx, tx, of.Scope, w) }
	return step, nil
}

// written is what a step writes.
type written[R any] struct {
	gone, emptied, cut []*R
	keep               []storage.Owned
	release            map[*R]storage.Owned
}

func (w *written[R]) rows() int { return len(w.gone) + len(w.emptied) + len(w.cut) }

func (w *written[R]) add(f Fate, at driver.Place, table string, r *R) {
	switch f.Verdict {
	case Delete:
		w.gone = append(w.gone, r)
	case Empty:
		w.emptied = append(w.emptied, r)
	case Cut:
		w.cut = append(w.cut, r)
	case Leave, Wait:
		return
	}
	owned := func(refs []storage.Ref) storage.Owned {
		return storage.Owned{Scope: at.Scope, Table: table, Key: at.Key, Refs: refs}
	}
	w.keep = append(w.keep, owned(f.Keep))
	if w.release == nil {
		w.release = map[*R]storage.Owned{}
	}
	w.release[r] = owned(f.Release)
}

// apply writes copies, for the transaction may run again. Rows that somebody wrote since
// are lost to this look.
func (s *Spec[R]) apply(ctx context.Context, tx storage.Tx, scope storage.Scope, w written[R]) (out applied, err error) {
	if out.first, err = s.forgetDeeds(ctx, tx, scope, w); err != nil || out.first {
		return out, err
	}
	if err := tx.Store().Blobs().Keep(ctx, tx, w.keep...); err != nil {
		return out, err
	}
	var owned []storage.Owned
	write := func(rows []*R, n *int, how func([]*R) error) {
		if err != nil || len(rows) == 0 {
			return
		}
		var missed map[int]bool
		if missed, err = tolerant(rows, how); err != nil {
			return
		}
		for i, r := range rows {
			if missed[i] {
				out.lost = append(out.lost, s.Table.Record(r).ID)
			} else {
				owned = append(owned, w.release[r])
			}
		}
		*n = len(rows) - len(missed)
	}
	write(w.gone, &out.done.Deleted, func(rows []*R) error { return s.Table.Delete(ctx, tx, rows...) })
	write(w.emptied, &out.done.Emptied, func(rows []*R) error { return s.Empties.Save(ctx, tx, rows...) })
	write(w.cut, &out.done.Cut, func(rows []*R) error {
		if s.Write != nil {
			return s.Write(ctx, tx, rows)
		}
		return s.Rewrites.Save(ctx, tx, rows...)
	})
	if err != nil {
		return applied{}, err
	}
	all, err := driver.OwnedBy(ctx, tx, s.Table.Name, s.places(w.gone, w.emptied)...)
	if err != nil {
		return applied{}, err
	}
	return out, driver.Release(ctx, tx, append(owned, slices.Collect(maps.Values(all))...)...)
}

// forgetDeeds takes what people did to rows out of the audit, and reports whether there
// was anything: it fills a transaction of its own.
func (s *Spec[R]) forgetDeeds(ctx context.Context, tx storage.Tx, scope storage.Scope, w written[R]) (some bool, err error) {
	if !s.Audited {
		return false, nil
	}
	rows := [][]*R{w.gone, w.emptied}
	if s.Write != nil { // it empties what is cut
		rows = append(rows, w.cut)
	}
	var keys []string
	for _, at := range s.places(rows...) {
		keys = append(keys, at.Key)
	}
	return audit.Forget(ctx, tx, scope, s.Table.Name, keys...)
}

func (s *Spec[R]) places(some ...[]*R) (out []driver.Place) {
	for _, r := range slices.Concat(some...) {
		out = append(out, s.Table.PlaceOf(r))
	}
	return out
}

// tolerant writes copies of rows, and tells which somebody else had written.
func tolerant[R any](rows []*R, write func([]*R) error) (missed map[int]bool, err error) {
	again := make([]*R, len(rows))
	for i, r := range rows {
		r := *r
		again[i] = &r
	}
	err = write(again)
	if stale := (*storage.StaleError)(nil); errors.As(err, &stale) {
		missed, err = map[int]bool{}, nil
		for _, i := range stale.Rows {
			missed[i] = true
		}
	}
	return missed, err
}

// shown reads the next rows of a way, with what is the person's.
func (s *Spec[R]) shown(ctx context.Context, store storage.Store, of Subject, way int, after int64) (out []driver.Row, next int64, err error) {
	var rows []*R
	err = store.View(ctx, func(from driver.Reader) (err error) {
		rows, next, err = s.ways(of)[way](ctx, from, after)
		return err
	})
	for _, r := range rows {
		is := true
		if s.Show != nil && err == nil {
			is, err = s.Show(ctx, of, r)
		}
		if is {
			out = append(out, s.Table.Row(r))
		}
	}
	return out, next, err
}
