package driver

import (
	"cmp"
	"context"
)

// ScopeFilter is where a verb of [Tx] reads: in one scope, or everywhere. No string of
// a host can say the latter. The zero value is the empty scope.
type ScopeFilter struct {
	scope      Scope
	everywhere bool
}

// Within reaches the rows of one scope.
func Within(scope Scope) ScopeFilter { return ScopeFilter{scope: scope} }

// Everywhere reaches the rows of all scopes. Only look-ups by an unguessable value
// (a token hash, a message id), polls, retention and health counts may use it.
func Everywhere() ScopeFilter { return ScopeFilter{everywhere: true} }

// Scope returns the scope that r is within; false if it is everywhere.
func (r ScopeFilter) Scope() (scope Scope, one bool) { return r.scope, !r.everywhere }

// CheckScope refuses a scope that no row can have with a [*ValueError], as
// writing one does. Find, Get, Count and CountBy do so before they read.
func (s *Schema) CheckScope(scope Scope) error {
	if problem := cmp.Or(lengthProblem(string(scope), maxScope), textProblem(string(scope))); problem != "" {
		return &ValueError{Table: s.Name, Column: "scope", Problem: problem}
	}
	return nil
}

// Everywhere reads t across scopes; see [Everywhere] for who may.
func (t *Table[R]) Everywhere() EverywhereOf[R] { return EverywhereOf[R]{t} }

// EverywhereOf reads a table across scopes. It comes from [Table.Everywhere], and
// its methods are those of [Table] without a scope.
type EverywhereOf[R any] struct{ t *Table[R] }

// Find returns the rows that q describes.
func (e EverywhereOf[R]) Find(ctx context.Context, from Reader, q Query) ([]*R, error) {
	return e.t.find(ctx, from, Everywhere(), q)
}

// Count counts rows, but not further than limit.
func (e EverywhereOf[R]) Count(ctx context.Context, from Reader, limit int, where ...Cond) (int, error) {
	return from.Count(ctx, &e.t.Schema, Everywhere(), where, limit)
}

// CountBy counts rows by kind, in no particular order. The scope is one of the kinds
// only if q names it.
func (e EverywhereOf[R]) CountBy(ctx context.Context, from Reader, q CountBy) ([]GroupOf[R], error) {
	return e.t.tally(ctx, from, Everywhere(), q)
}
