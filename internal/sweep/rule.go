// Package sweep deletes, empties and rewrites rows in bounded pages: rows that ended long
// ago, and rows that tell of a person who is erased. A domain gives its [Rules] as values.
// One engine finds what they describe, writes it in one transaction with the place behind
// it, and goes on there after a crash.
package sweep

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// Rules are what a domain gives to the sweep.
type Rules struct {
	// Domain names it. A process goes on with an erasure only if it has all its domains.
	Domain string
	// Old are made by [Retention.Rule]: what goes with its age.
	Old []Rule
	// People are made by [Erasure.Rule] and [Stays]: what is known of a person, in the order
	// in which it is gone through. What is found by way of other rows comes before them.
	People []Rule
	// Mark keeps what comes again for a person from being sent, from the transaction on
	// that asks for the erasure; Unmark lets it through again. Nil: there is nothing.
	Mark   func(ctx context.Context, tx storage.Tx, s Subject) error
	Unmark func(ctx context.Context, tx storage.Tx, s Subject, by audit.By) error
}

// RulesOf are those of what a service was given, if it has any.
func RulesOf(given any) []Rules {
	if has, ok := given.(interface{ SweepRules() []Rules }); ok {
		return has.SweepRules()
	}
	return nil
}

// Verdict is what becomes of a row that was found.
type Verdict int

// The verdicts.
const (
	Keep   Verdict = iota // it stays as it is
	Wait                  // it is looked at again later: it is too young, or a worker has it
	Delete                // it goes
	Empty                 // a stub stays, whose key still answers
	Cut                   // the person's part goes, as Judge has changed the row
)

// Fate is a verdict, with the blobs that a row which is cut names from now on, and no
// longer. What is deleted or emptied owns none.
type Fate struct {
	Verdict
	Keep, Release []storage.Ref
}

// At says when rows are looked at, and for whom.
type At struct {
	Now time.Time
	Dry bool // nothing is written, archived, or put into a blob
	// Keep is for how long old rows stay by the host's option, zero if it does not say so;
	// Before is the moment by which whatever goes has ended.
	Keep   time.Duration
	Before time.Time

	subject Subject // of an erasure
}

// Rule is a [Retention] or an [Erasure] without the type of its rows.
type Rule struct {
	Table string
	plan  func(ctx context.Context, store storage.Store, at At, way int, after int64) (planned, error)

	// Of a retention.
	by     string
	after  func(keep time.Duration) time.Duration
	every  time.Duration
	silent bool
	hasOld func(ctx context.Context, from driver.Reader, before time.Time) (bool, error)

	// Of an erasure.
	schema  *driver.Schema
	keeps   map[string]string
	empties func(column string) bool
	cutFrom []string
	how     string
	ways    func(Subject) int // that find what is to be written
	show    func(ctx context.Context, store storage.Store, s Subject, visit func([]driver.Row) error) error
}

// Retention says how the rows of one table go with their age.
type Retention[R any] struct {
	Table *driver.Table[R]
	// By is the field of belfry.Retention that says for how long rows stay.
	By string
	// Created is the column with the moment at which a row was made. Rows are about as
	// old as their ids, so a walk ends at one that is too young.
	Created func(*R) time.Time
	// After is how long rows stay at least, where the option says keep (zero: nothing);
	// zero: for ever. Nil: the option alone says so.
	After func(keep time.Duration) time.Duration
	// Silent deletes rows without the week's announcement: they are only technical.
	Silent bool
	// Old describes the rows that may have ended by a moment.
	Old func(before time.Time) []driver.Cond
	// Judge decides about such rows; nil: all go.
	Judge func(ctx context.Context, from driver.Reader, at At, rows []*R) ([]Verdict, error)
	// Tombstones makes the stubs; nil: there are none.
	Tombstones *driver.Tombstones[R]
	// Trim takes from a row what its stub does not keep of the columns that it does, or
	// marks it; nil: nothing.
	Trim func(*R)
	// Archive is given what is about to go, outside a transaction, and says which rows
	// stay since they could not be archived, and why; nil: nothing is archived.
	Archive func(ctx context.Context, rows []*R) (stay map[*R]bool, err error)
}

// Rule is s without its type.
func (s Retention[R]) Rule() Rule {
	if s.After == nil {
		s.After = func(keep time.Duration) time.Duration { return keep }
	}
	p := &pager[R]{table: s.Table, find: s.find, stubs: s.Tombstones, trim: s.Trim, archive: s.Archive, byID: true, weight: 1}
	return Rule{
		Table: s.Table.Name, plan: p.plan, by: s.By, after: s.After, every: daily, silent: s.Silent,
		hasOld: func(ctx context.Context, from driver.Reader, before time.Time) (bool, error) {
			first, err := s.Table.Everywhere().Find(ctx, from, driver.Query{Limit: 1})
			return err == nil && len(first) > 0 && s.Created(first[0]).Before(before), err
		},
	}
}

// find reads the old rows of the next ids, and where to go on: along the primary key,
// since an index over ended rows would cost every settling more than a daily walk.
func (s Retention[R]) find(ctx context.Context, from driver.Reader, at At, _ int, after int64) ([]*found[R], int64, error) {
	first, err := s.Table.Everywhere().Find(ctx, from, driver.Query{Where: []driver.Cond{driver.Greater("id", after)}, Limit: 1})
	if err != nil || len(first) == 0 || s.Created(first[0]).After(at.Before) {
		return nil, 0, err
	}
	begin := s.Table.Record(first[0]).ID
	next := begin + span - 1
	where := append([]driver.Cond{driver.AtLeast("id", begin), driver.AtMost("id", next)}, s.Old(at.Before)...)
	rows, err := s.Table.Everywhere().Find(ctx, from, driver.Query{Where: where, Limit: Page})
	if err != nil || len(rows) == 0 {
		return nil, next, err
	}
	if len(rows) == Page {
		next = s.Table.Record(rows[Page-1]).ID
	}
	out := deleted(rows)
	if s.Judge != nil {
		verdicts, err := s.Judge(ctx, from, at, rows)
		if err != nil {
			return nil, 0, err
		}
		for i, v := range verdicts {
			out[i].Verdict = v
		}
	}
	return out, next, nil
}

// Erasure says how what a table knows of a person is found and erased.
type Erasure[R any] struct {
	Table *driver.Table[R]
	// Ways are those by which rows are found. A row that was erased is not found again, or
	// is kept.
	Ways func(Subject) []Way[R]
	// Stay keeps all rows as they are: they are found to be shown.
	Stay bool
	// Judge says what becomes of a row, which it may change. It is called outside a
	// transaction, so that it may read and write blobs. Nil: all rows go, unless they Stay.
	Judge func(ctx context.Context, s Subject, at At, r *R) (Fate, error)
	// Empties makes what is left of a row; nil: none is emptied.
	Empties *driver.Tombstones[R]
	// Rewrites writes rows that are cut, CutFrom are its columns that tell of people.
	Rewrites *driver.Rewriting[R]
	CutFrom  []string
	// Keeps are columns that tell of people and stay in a row that does, and why.
	Keeps map[string]string
	// Write erases rows that are cut in a way of the domain's own, in the place of Rewrites;
	// Weight is how many rows it writes for one of them, 1 if it is zero.
	Write  func(ctx context.Context, tx storage.Tx, rows []*R) error
	Weight int
	// With names the table whose rows these go with: they are found to be shown.
	With string
	// Audited says that people act on rows, so that what the audit says of it goes, too.
	Audited bool
	// Show leaves of a row what is the person's, and says whether anything is; nil: all is.
	Show func(ctx context.Context, s Subject, r *R) (bool, error)
}

// Stays is the rule of a table that nothing of is erased, though some of its columns tell
// of people.
func Stays[R any](t *driver.Table[R], keeps map[string]string) Rule {
	return Erasure[R]{
		Table: t, Keeps: keeps, Stay: true, Ways: func(Subject) []Way[R] { return nil },
	}.Rule()
}

// Rule is s without its type.
func (s Erasure[R]) Rule() Rule {
	p := &pager[R]{table: s.Table, find: s.find, stubs: s.Empties, cut: s.Write, audited: s.Audited, emptiesCut: s.Write != nil, weight: max(s.Weight, 1)}
	if s.Judge != nil {
		p.judge = func(ctx context.Context, at At, r *R) (Fate, error) { return s.Judge(ctx, at.subject, at, r) }
	}
	if s.Write == nil && s.Rewrites != nil {
		p.cut = func(ctx context.Context, tx storage.Tx, rows []*R) error { return s.Rewrites.Save(ctx, tx, rows...) }
	}
	return Rule{
		Table: s.Table.Name, plan: p.plan, schema: &s.Table.Schema, keeps: s.Keeps, how: s.how(), cutFrom: s.CutFrom, empties: s.empties,
		ways: func(of Subject) int {
			if s.Stay || s.With != "" {
				return 0
			}
			return len(s.ways(of))
		},
		show: s.show,
	}
}

// ways are those of the table, and that to the rows which the last sweep had to leave: what
// had led to them may be erased.
func (s Erasure[R]) ways(of Subject) []Way[R] {
	all := s.Ways(of)
	if ids := of.again[s.Table.Name]; len(ids) > 0 {
		all = append(all, By(s.Table, of.Scope, driver.In("id", ids)))
	}
	return all
}

func (s Erasure[R]) find(ctx context.Context, from driver.Reader, at At, way int, after int64) ([]*found[R], int64, error) {
	rows, next, err := s.ways(at.subject)[way](ctx, from, after)
	return deleted(rows), next, err
}

// show visits what a person may see, page by page; a row that several ways find comes
// again.
func (s Erasure[R]) show(ctx context.Context, store storage.Store, of Subject, visit func([]driver.Row) error) error {
	for _, way := range s.ways(of) {
		for after, more := int64(0), true; more; more = after != 0 {
			var rows []*R
			err := store.View(ctx, func(from driver.Reader) (err error) {
				rows, after, err = way(ctx, from, after)
				return err
			})
			var page []driver.Row
			for _, r := range rows {
				is := true
				if s.Show != nil && err == nil {
					is, err = s.Show(ctx, of, r)
				}
				if is {
					page = append(page, s.Table.Row(r))
				}
			}
			if err == nil {
				err = visit(page)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// empties reports whether nothing is left of a column.
func (s Erasure[R]) empties(column string) bool {
	if s.Empties != nil {
		return s.Empties.Empties(column)
	}
	return s.Rewrites == nil && s.Write == nil && !s.Stay // the row goes
}

// Treats says what becomes of a column that tells of people; empty: nothing does.
func (r Rule) Treats(column string) string {
	switch {
	case r.keeps[column] != "":
		return "kept: " + r.keeps[column]
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

func (s Erasure[R]) how() string {
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
