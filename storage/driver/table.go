package driver

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"
)

func (t *Table[R]) rows(in []*R) []Row {
	out := make([]Row, len(in))
	for i, r := range in {
		out[i] = t.row(r)
	}
	return out
}

func typed[R any](rows []Row) []*R {
	out := make([]*R, len(rows))
	for i, r := range rows {
		out[i] = any(r).(*R)
	}
	return out
}

// Insert adds rows and tells which were new; an existing scope and key leaves
// the stored row as it is. A row that cannot be stored faithfully is refused
// with a [*ValueError] or [*RowSizeError] before anything is written.
func (t *Table[R]) Insert(ctx context.Context, tx Tx, rows ...*R) ([]bool, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	all := t.rows(rows)
	if err := t.checkAll(all, false); err != nil {
		return nil, err
	}
	return tx.Insert(ctx, &t.Schema, all)
}

func (s *Schema) checkAll(rows []Row, changed bool) error {
	for _, r := range rows {
		if err := s.check(r, changed); err != nil {
			return err
		}
	}
	return nil
}

// checkNames refuses what no row is called.
func (t *Table[R]) checkNames(rows []Row) error {
	for _, r := range rows {
		if err := cmp.Or(t.CheckScope(r.record().Scope), t.checkKey(r)); err != nil {
			return err
		}
	}
	return nil
}

// Find returns the rows of scope that q describes.
func (t *Table[R]) Find(ctx context.Context, from Reader, scope Scope, q Query) ([]*R, error) {
	if err := t.CheckScope(scope); err != nil {
		return nil, err
	}
	return t.find(ctx, from, Within(scope), q)
}

func (t *Table[R]) find(ctx context.Context, from Reader, reach ScopeFilter, q Query) ([]*R, error) {
	rows, err := from.Select(ctx, &t.Schema, reach, q)
	if err != nil {
		return nil, err
	}
	return typed[R](rows), nil
}

// Get returns the row with that key, or [ErrNotFound].
func (t *Table[R]) Get(ctx context.Context, from Reader, scope Scope, key string) (*R, error) {
	rows, err := t.Find(ctx, from, scope, Query{Where: []Cond{Eq("key", key)}, Limit: 1})
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, ErrNotFound
	}
	return rows[0], nil
}

// Claim takes due rows; see [Claim].
func (t *Table[R]) Claim(ctx context.Context, tx Tx, c Claim) ([]*R, error) {
	if err := t.checkDue("claim"); err != nil {
		return nil, err
	}
	rows, err := tx.Claim(ctx, t.worked(), c)
	if err != nil {
		return nil, err
	}
	return typed[R](rows), nil
}

// checkDue refuses what only rows that embed [Due] can do.
func (s *Schema) checkDue(verb string) error {
	if s.Due {
		return nil
	}
	return fmt.Errorf("storage: %s %s: its rows embed Record, so they are never due; embed Due", verb, s.Name)
}

// Save writes rows back, each only if it was not written since it was read. Losers
// are reported by a [*StaleError], which is an [ErrStale]; the other rows of the
// call are written, and their Version is raised. A transaction of InTx that is
// rolled back, or run again, puts back the versions of structs, and the ids of
// those that Insert gave one. A host that rolls back a joined transaction loads
// rows again.
func (t *Table[R]) Save(ctx context.Context, tx Tx, rows ...*R) error {
	return t.save(ctx, tx, &t.Schema, rows)
}

func (t *Table[R]) save(ctx context.Context, tx Tx, s *Schema, rows []*R) error {
	if len(rows) == 0 {
		return nil
	}
	all := t.rows(rows)
	if err := s.checkAll(all, true); err != nil {
		return err
	}
	stale, err := tx.Update(ctx, s, all)
	if err != nil {
		return err
	}
	return staleError(t.Name, stale)
}

// Extend moves the leases of held rows to until and tells which were lost: the
// lease is gone or the ClaimToken is another's.
func (t *Table[R]) Extend(ctx context.Context, tx Tx, until time.Time, rows ...*R) ([]bool, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	if err := t.checkDue("extend"); err != nil {
		return nil, err
	}
	return tx.Extend(ctx, &t.Schema, t.rows(rows), Time(until))
}

// Delete removes rows, each only if it was not written since it was read; losers
// are reported as by Save.
func (t *Table[R]) Delete(ctx context.Context, tx Tx, rows ...*R) error {
	if len(rows) == 0 {
		return nil
	}
	stale, err := tx.Delete(ctx, &t.Schema, t.rows(rows))
	if err != nil {
		return err
	}
	return staleError(t.Name, stale)
}

// Count counts rows of scope, but not further than limit.
func (t *Table[R]) Count(ctx context.Context, from Reader, scope Scope, limit int, where ...Cond) (int, error) {
	if err := t.CheckScope(scope); err != nil {
		return 0, err
	}
	return from.Count(ctx, &t.Schema, Within(scope), where, limit)
}

func staleError(table string, stale []bool) error {
	var rows []int
	for i, s := range stale {
		if s {
			rows = append(rows, i)
		}
	}
	if rows == nil {
		return nil
	}
	return &StaleError{Table: table, Rows: rows}
}

// Settle is Save for rows of a claim: columns with the tag option "planned" stay
// as they are stored. They say what a row stands for, which its handler
// does not change, so that a worker neither sends them back nor overwrites them.
func (t *Table[R]) Settle(ctx context.Context, tx Tx, rows ...*R) error {
	return t.save(ctx, tx, t.worked(), rows)
}

// worked is the table as workers see it, or the whole if they see all of it.
func (t *Table[R]) worked() *Schema {
	t.once.Do(func() {
		part := &Schema{Name: t.Name, New: t.New, Due: t.Due, MaxRow: t.MaxRow, Whole: &t.Schema}
		for _, c := range t.Columns {
			c.Fixed = c.Fixed || c.planned
			if !c.unclaimed {
				part.Columns = append(part.Columns, c)
			}
		}
		if t.part = part; slices.Equal(part.Columns, t.Columns) {
			t.part = &t.Schema
		}
	})
	return t.part
}
