package storage

import "context"

// Tally asks how many rows there are of each kind.
type Tally struct {
	// By are the columns whose values tell the kinds apart; JSON and bytes have
	// none. Under [AnyScope] the scope is one only if it is named here.
	By    []string
	Where []Cond
	// OrderBy is the column whose lowest values are counted first; which of
	// several equal ones is left open. It is required, and rows that have NULL in
	// it are not counted. Text, integers and instants have an order here.
	OrderBy string
	// Limit is required: not more than so many rows are counted in all.
	Limit int
}

// Group is one kind of rows in the answer to a [Tally].
type Group struct {
	// Row has the values of By, and in OrderBy the lowest one of the kind.
	Row Row
	N   int
}

// GroupOf is a [Group] of a typed table.
type GroupOf[R any] struct {
	Row *R
	N   int
}

// Tally counts rows of scope by kind, in no particular order.
func (t *Table[R]) Tally(ctx context.Context, tx Tx, scope Scope, q Tally) ([]GroupOf[R], error) {
	groups, err := tx.Tally(ctx, &t.Schema, scope, q)
	out := make([]GroupOf[R], len(groups))
	for i, g := range groups {
		out[i] = GroupOf[R]{any(g.Row).(*R), g.N}
	}
	return out, err
}
