package storage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
)

// Outcome is what an Ensure did with one row.
type Outcome string

// The outcomes of an Ensure.
const (
	Created     Outcome = "Created"
	Updated     Outcome = "Updated"
	Reactivated Outcome = "Reactivated"
	Unchanged   Outcome = "Unchanged"
	InFlight    Outcome = "InFlight" // held by a worker; nothing was changed under it
	Conflict    Outcome = "Conflict" // the stored row stands for something else
)

// Ensured is the answer for one row: what happened, and the row as it is stored;
// of one that was found and not written only the table's deciding columns, if it
// has named them (see [Table.Deciding]).
type Ensured[R any] struct {
	Outcome Outcome
	Row     *R
}

// Decide compares a stored row with the wanted one. It may change stored and
// then asks for it to be written; it never changes want. It is asked again, about
// the whole row, before one is written of which only the deciding columns were
// read, and about a row that somebody else wrote in the meantime.
type Decide[R any] func(stored, want *R) (outcome Outcome, write bool)

// Ensure makes each wanted row exist once: it inserts it, or asks decide about
// the stored row with the same scope and key. Results are in the order of the
// arguments. It takes a constant number of statements unless rows repeat a key
// or other writers interfere, and no statement that fails on a conflict, which
// would abort a host's transaction. A table whose last batch mostly existed is
// read before it is inserted into, so that replays write nothing at all.
func (t *Table[R]) Ensure(ctx context.Context, tx Tx, decide Decide[R], want ...*R) ([]Ensured[R], error) {
	if err := t.checkAll(t.rows(want)); err != nil {
		return nil, err
	}
	out := make([]Ensured[R], len(want))
	open := make([]int, len(want))
	for i := range open {
		open[i] = i
	}
	for misses := 0; len(open) > 0; {
		t.sort(want, open)
		rest, err := t.ensureOnce(ctx, tx, decide, want, open, out)
		if err != nil {
			return nil, err
		}
		if len(rest) == len(open) {
			misses++
		}
		if misses == 3 {
			return nil, fmt.Errorf("storage: %s: %d rows kept changing under Ensure: %w", t.Name, len(rest), ErrBusy)
		}
		open = rest
	}
	return out, nil
}

// sort puts the indices into the order of the keys, so that concurrent batches
// take their locks in one order.
func (t *Table[R]) sort(want []*R, open []int) {
	slices.SortStableFunc(open, func(a, b int) int {
		ra, rb := t.Record(want[a]), t.Record(want[b])
		return cmp.Or(cmp.Compare(ra.Scope, rb.Scope), cmp.Compare(ra.Key, rb.Key))
	})
}

// ensureOnce settles what it can of the open indices and returns the others:
// repeated keys, rows that vanished between the statements, lost swaps.
func (t *Table[R]) ensureOnce(ctx context.Context, tx Tx, decide Decide[R], want []*R, open []int, out []Ensured[R]) ([]int, error) {
	round, rest := t.distinct(want, open)
	if !t.findFirst.Load() {
		taken, err := t.insertSome(ctx, tx, want, round, out)
		if err != nil {
			return nil, err
		}
		t.findFirst.Store(2*len(taken) > len(round))
		missed, err := t.decideStored(ctx, tx, decide, want, taken, out)
		return append(rest, missed...), err
	}
	missing, err := t.decideStored(ctx, tx, decide, want, round, out)
	if err != nil {
		return nil, err
	}
	t.findFirst.Store(2*len(missing) < len(round))
	taken, err := t.insertSome(ctx, tx, want, missing, out)
	return append(rest, taken...), err
}

// insertSome inserts the rows of round and returns the indices of those whose
// keys were taken.
func (t *Table[R]) insertSome(ctx context.Context, tx Tx, want []*R, round []int, out []Ensured[R]) (taken []int, err error) {
	if len(round) == 0 {
		return nil, nil
	}
	batch := make([]Row, len(round))
	for i, n := range round {
		batch[i] = t.row(want[n])
	}
	inserted, err := tx.Insert(ctx, &t.Schema, batch) // Ensure has checked them
	if err != nil {
		return nil, err
	}
	for i, n := range round {
		if inserted[i] {
			out[n] = Ensured[R]{Created, want[n]}
		} else {
			taken = append(taken, n)
		}
	}
	return taken, nil
}

func (t *Table[R]) distinct(want []*R, open []int) (round, rest []int) {
	for i, n := range open {
		if i > 0 && t.identity(want[n]) == t.identity(want[open[i-1]]) {
			rest = append(rest, n)
		} else {
			round = append(round, n)
		}
	}
	return round, rest
}

type identity struct {
	scope Scope
	key   string
}

func (t *Table[R]) identity(r *R) identity {
	rec := t.Record(r)
	return identity{rec.Scope, rec.Key}
}

// decideStored loads the rows whose keys exist, lets decide say what becomes of
// them, saves those, and returns the indices that it did not settle. Rows are
// read whole only to be written.
func (t *Table[R]) decideStored(ctx context.Context, tx Tx, decide Decide[R], want []*R, taken []int, out []Ensured[R]) ([]int, error) {
	found, again, err := t.decideOn(ctx, tx, t.deciding, decide, want, taken, out)
	if err == nil && t.deciding != nil {
		var gone []int
		found, gone, err = t.decideOn(ctx, tx, nil, decide, want, found, out)
		again = append(again, gone...)
	}
	if err != nil {
		return nil, err
	}
	save := make([]*R, len(found))
	for i, n := range found {
		save[i] = out[n].Row
	}
	err = t.Save(ctx, tx, save...)
	if stale := (*StaleError)(nil); errors.As(err, &stale) {
		for _, i := range stale.Rows {
			again = append(again, found[i])
		}
		return again, nil
	}
	return again, err
}

// decideOn asks decide about the stored rows, of which it reads columns (nil:
// all). It returns the indices of those that are to be written, and of those
// that are not there.
func (t *Table[R]) decideOn(ctx context.Context, tx Tx, columns []string, decide Decide[R], want []*R, taken []int, out []Ensured[R]) (write, gone []int, err error) {
	if len(taken) == 0 {
		return nil, nil, nil
	}
	stored, err := t.load(ctx, tx, columns, want, taken)
	if err != nil {
		return nil, nil, err
	}
	for _, n := range taken {
		row, ok := stored[t.identity(want[n])]
		if !ok {
			gone = append(gone, n)
			continue
		}
		outcome, changed := decide(row, want[n])
		out[n] = Ensured[R]{outcome, row}
		if changed {
			write = append(write, n)
		}
	}
	return write, gone, nil
}

// load reads columns of the stored rows of the wanted identities, one statement
// a scope.
func (t *Table[R]) load(ctx context.Context, tx Tx, columns []string, want []*R, taken []int) (map[identity]*R, error) {
	keys := map[Scope][]string{}
	for _, n := range taken {
		rec := t.Record(want[n])
		keys[rec.Scope] = append(keys[rec.Scope], rec.Key)
	}
	stored := make(map[identity]*R, len(taken))
	for scope, keys := range keys {
		rows, err := t.Find(ctx, tx, scope, Query{Columns: columns, Where: []Cond{In("key", keys)}, Limit: len(keys)})
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			stored[t.identity(r)] = r
		}
	}
	return stored, nil
}
