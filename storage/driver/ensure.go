package driver

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
	InFlight    Outcome = "InFlight" // held by a worker, whose try counts for nothing if the row was changed
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
// read, and about a row that another writer wrote in the meantime.
type Decide[R any] func(stored, want *R) (outcome Outcome, write bool)

// Ensure makes each wanted row exist once: it inserts it, or asks decide about
// the stored row with the same scope and key. Results are in the order of the
// arguments. It takes a constant number of statements unless rows repeat a key
// or other writers interfere, and no statement that fails on a conflict, which
// would abort a host's transaction. A table is read before it is inserted into,
// so that replays write nothing at all, unless its last batch was mostly new.
func (t *Table[R]) Ensure(ctx context.Context, tx Tx, decide Decide[R], want ...*R) ([]Ensured[R], error) {
	rows := t.rows(want)
	if err := t.checkNames(rows); err != nil {
		return nil, err
	}
	e := ensuring[R]{table: t, tx: tx, decide: decide, want: want, out: make([]Ensured[R], len(want))}
	e.checked = beside(len(rows), func() error { return t.checkAll(rows, false) })
	err := e.run(ctx)
	if refused := e.checked(); refused != nil { // wait for it, since it reads what is the caller's
		return nil, refused
	}
	if err != nil {
		return nil, err
	}
	return e.out, nil
}

// ensuring is one call of Ensure.
type ensuring[R any] struct {
	table  *Table[R]
	tx     Tx
	decide Decide[R]
	want   []*R
	out    []Ensured[R]
	// checked says whether the wanted rows can be stored; nothing is decided or
	// written before. They are checked while the database looks for them.
	checked func() error
}

// patience is how many rounds in a row are borne that settle nothing: each swap
// that is lost to others is progress of theirs.
const patience = 10

func (e *ensuring[R]) run(ctx context.Context) error {
	open := make([]int, len(e.want))
	for i := range open {
		open[i] = i
	}
	for misses := 0; len(open) > 0; {
		e.sort(open)
		rest, err := e.once(ctx, open)
		if err != nil {
			return err
		}
		if len(rest) == len(open) {
			misses++
		}
		if misses == patience {
			return fmt.Errorf("storage: %s: %d rows kept changing under Ensure: %w", e.table.Name, len(rest), ErrBusy)
		}
		open = rest
	}
	return nil
}

// sort puts the indices into the order of the keys, so that concurrent batches
// take their locks in one order.
func (e *ensuring[R]) sort(open []int) {
	slices.SortStableFunc(open, func(a, b int) int {
		ra, rb := e.table.Record(e.want[a]), e.table.Record(e.want[b])
		return cmp.Or(cmp.Compare(ra.Scope, rb.Scope), cmp.Compare(ra.Key, rb.Key))
	})
}

// once settles what it can of the open indices and returns the others: repeated
// keys, rows that vanished between the statements, lost swaps.
func (e *ensuring[R]) once(ctx context.Context, open []int) ([]int, error) {
	round, rest := e.distinct(open)
	if e.table.insertFirst.Load() {
		taken, err := e.insert(ctx, round)
		if err != nil {
			return nil, err
		}
		e.table.insertFirst.Store(2*len(taken) <= len(round))
		missed, err := e.decideStored(ctx, taken)
		return append(rest, missed...), err
	}
	missing, err := e.decideStored(ctx, round)
	if err != nil {
		return nil, err
	}
	e.table.insertFirst.Store(2*len(missing) >= len(round))
	taken, err := e.insert(ctx, missing)
	return append(rest, taken...), err
}

// insert inserts the rows of round and returns the indices of those whose keys
// were taken.
func (e *ensuring[R]) insert(ctx context.Context, round []int) (taken []int, err error) {
	if len(round) == 0 {
		return nil, nil
	}
	if err := e.checked(); err != nil {
		return nil, err
	}
	batch := make([]Row, len(round))
	for i, n := range round {
		batch[i] = e.table.row(e.want[n])
	}
	inserted, err := e.tx.Insert(ctx, &e.table.Schema, batch)
	if err != nil {
		return nil, err
	}
	for i, n := range round {
		if inserted[i] {
			e.out[n] = Ensured[R]{Created, e.want[n]}
		} else {
			taken = append(taken, n)
		}
	}
	return taken, nil
}

func (e *ensuring[R]) distinct(open []int) (round, rest []int) {
	for i, n := range open {
		if i > 0 && e.table.ScopedKeyOf(e.want[n]) == e.table.ScopedKeyOf(e.want[open[i-1]]) {
			rest = append(rest, n)
		} else {
			round = append(round, n)
		}
	}
	return round, rest
}

// decideStored loads the rows whose keys exist, lets decide say what becomes of
// them, saves those, and returns the indices that it did not settle. Rows are
// read whole only to be written.
func (e *ensuring[R]) decideStored(ctx context.Context, taken []int) ([]int, error) {
	found, again, err := e.decideOn(ctx, e.table.deciding, taken)
	if err == nil && e.table.deciding != nil {
		var gone []int
		found, gone, err = e.decideOn(ctx, nil, found)
		again = append(again, gone...)
	}
	if err != nil {
		return nil, err
	}
	save := make([]*R, len(found))
	for i, n := range found {
		save[i] = e.out[n].Row
	}
	err = e.table.Save(ctx, e.tx, save...)
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
func (e *ensuring[R]) decideOn(ctx context.Context, columns []string, taken []int) (write, gone []int, err error) {
	if len(taken) == 0 {
		return nil, nil, nil
	}
	stored, err := e.load(ctx, columns, taken)
	if err != nil {
		return nil, nil, err
	}
	if err := e.checked(); err != nil {
		return nil, nil, err
	}
	for _, n := range taken {
		row, ok := stored[e.table.ScopedKeyOf(e.want[n])]
		if !ok {
			gone = append(gone, n)
			continue
		}
		outcome, changed := e.decide(row, e.want[n])
		e.out[n] = Ensured[R]{outcome, row}
		if changed {
			write = append(write, n)
		}
	}
	return write, gone, nil
}

// load reads columns of the stored rows that are wanted, in one statement.
func (e *ensuring[R]) load(ctx context.Context, columns []string, taken []int) (map[ScopedKey]*R, error) {
	places := make([]ScopedKey, len(taken))
	for i, n := range taken {
		places[i] = e.table.ScopedKeyOf(e.want[n])
	}
	return e.table.GetMany(ctx, e.tx, places, columns...)
}

// few is up to how many rows are not worth a goroutine.
const few = 64

// beside runs f about n rows while the caller does something else, and returns a
// function that waits for its answer, as often as it is asked. A panic comes back
// there too.
func beside(n int, f func() error) (answer func() error) {
	if n <= few {
		err := f()
		return func() error { return err }
	}
	var (
		err      error
		panicked any
		done     = make(chan struct{})
	)
	go func() {
		defer close(done)
		defer func() { panicked = recover() }()
		err = f()
	}()
	return func() error {
		<-done
		if panicked != nil {
			panic(panicked)
		}
		return err
	}
}
