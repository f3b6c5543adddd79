package driver

import (
	"context"
	"fmt"
	"reflect"
	"time"
)

// Op is the comparison that a condition makes.
type Op int

// The comparisons of a [Cond].
const (
	OpEq Op = iota
	OpIn
	OpLess
	OpAtMost
	OpGreater
	OpAtLeast
	OpNull
	OpNotNull
	OpAny // at least one of Conds holds
)

// Cond is one condition of a query; several are joined by AND. Text compares
// byte by byte, and a comparison with NULL is false. Make conditions with Eq,
// In, Less, AtMost, Greater, AtLeast, Null, NotNull and Any.
type Cond struct {
	Column string
	Op     Op
	Value  any    // string, int64, bool or time.Time; []string or []int64 for OpIn
	Conds  []Cond // for OpAny
}

// Eq holds where column equals value: a string, integer, bool or time.
func Eq(column string, value any) Cond { return compare(column, OpEq, value) }

// Less holds where column is less than value.
func Less(column string, value any) Cond { return compare(column, OpLess, value) }

// AtMost holds where column is less than or equal to value.
func AtMost(column string, value any) Cond { return compare(column, OpAtMost, value) }

// Greater holds where column is greater than value.
func Greater(column string, value any) Cond { return compare(column, OpGreater, value) }

// AtLeast holds where column is greater than or equal to value.
func AtLeast(column string, value any) Cond { return compare(column, OpAtLeast, value) }

// In holds where column equals one of values; none of them: never.
func In[V ~string | ~int64](column string, values []V) Cond {
	c := Cond{Column: column, Op: OpIn}
	if reflect.TypeFor[V]().Kind() == reflect.String {
		out := make([]string, len(values))
		for i, v := range values {
			out[i] = reflect.ValueOf(v).String()
		}
		c.Value = out
		return c
	}
	out := make([]int64, len(values))
	for i, v := range values {
		out[i] = reflect.ValueOf(v).Int()
	}
	c.Value = out
	return c
}

// Null holds where column is NULL.
func Null(column string) Cond { return Cond{Column: column, Op: OpNull} }

// NotNull holds where column is not NULL.
func NotNull(column string) Cond { return Cond{Column: column, Op: OpNotNull} }

// Any holds where at least one of conds holds; none of them: never.
func Any(conds ...Cond) Cond { return Cond{Op: OpAny, Conds: conds} }

func compare(column string, op Op, value any) Cond {
	return Cond{Column: column, Op: op, Value: canonical(value)}
}

// canonical panics on a type that no column has: values of conditions come from
// typed Go code.
func canonical(value any) any {
	if t, ok := value.(time.Time); ok {
		return Time(t)
	}
	switch v := reflect.ValueOf(value); v.Kind() {
	case reflect.String:
		return v.String()
	case reflect.Int64, reflect.Int32, reflect.Int16, reflect.Int:
		return v.Int()
	case reflect.Bool:
		return v.Bool()
	}
	panic(fmt.Sprintf("storage: condition with a %T", value))
}

// Query selects rows of one table.
type Query struct {
	// Columns are read beside id, scope and key, and the others stay zero. A row
	// without its version cannot be saved by mistake: it counts as stale. Empty
	// means all columns.
	Columns []string
	Where   []Cond
	// OrderBy is a column; ties are broken by id in the same direction. Empty
	// means by id alone. NULLs sort first (last when Desc).
	OrderBy string
	Desc    bool
	// Unordered rows come in any order, which spares the database a sort. It counts
	// only without OrderBy, Desc and After.
	Unordered bool
	// Limit is required: at most so many rows come back.
	Limit int
	// After continues behind the last row of the page before (keyset paging).
	After *Position
	// Parents, if it has any, are keys of one scope: the rows are those whose keys go on behind
	// one of them and U+001F, at most Limit of each, the lowest keys first (the highest, if
	// Desc). OrderBy and After are empty. [Table.FindChildren] asks so.
	Parents []string
}

// Position is a place in an ordered result: the value of the OrderBy column
// (ignored without OrderBy; it must not be NULL) and the id of a row.
type Position struct {
	Value any
	ID    int64
}

// Claim asks for rows that are due. It takes rows with DueOn at or before Now,
// of one of Kinds, that are free (no lease, and a claimable status) or whose
// lease has expired, in any status. Each gets Version+1, the lease, the
// token and the busy status; Abandoned says that an expired lease was taken over.
type Claim struct {
	// Statuses are the claimable ones.
	Statuses []string
	// Busy is the status that a claimed row gets; empty leaves the status alone.
	Busy string
	// Kinds are the registered names served here; nil means all of them.
	Kinds []string
	// Scopes are the only ones to take rows of; nil means all of them.
	Scopes []Scope
	// Lanes says where to look, and how much to take from each.
	Lanes []LaneClaim
	// Except leaves out the rows of these scopes, and ExceptKinds the rows of one
	// Kind in one scope (paused ones).
	Except      []Scope
	ExceptKinds []ScopedKind
	// ExceptNames leaves out rows by another name than their Kind.
	ExceptNames Names
	// Now is the moment of the claim; LeaseUntil is when its lease expires.
	Now, LeaseUntil time.Time
	// Expired bounds the leases that are taken over: those that ran out later are left
	// alone, since their owners could not renew them. Zero: none is.
	Expired time.Time
	// Token is fresh for every claim; see Due.ClaimToken.
	Token string
}

// ExpiredBy is the latest end of a lease that c takes over at a moment.
func (c *Claim) ExpiredBy(at time.Time) time.Time {
	if c.Expired.IsZero() || c.Expired.After(at) {
		return at
	}
	return c.Expired
}

// ScopedKind is a registered name in one scope.
type ScopedKind struct {
	Scope Scope
	Kind  string
}

// Names are those in a text column of a table's own, such as the type of
// notification that a message is of.
type Names struct {
	Column string // empty: none
	Names  []string
	Scoped []ScopedKind // a name in one scope: its Kind is the text in Column
}

// LaneClaim takes at most Limit rows of one lane, oldest first (ties by id),
// from behind a cursor.
type LaneClaim struct {
	Lane  int16
	After Cursor
	Limit int
}

// Cursor is a place in the due order of a lane; the zero value is its start.
type Cursor struct {
	DueOn time.Time
	ID    int64
}

// Before reports whether c comes before the place of (dueOn, id).
func (c Cursor) Before(dueOn time.Time, id int64) bool {
	if !c.DueOn.Equal(dueOn) {
		return c.DueOn.Before(dueOn)
	}
	return c.ID < id
}

// CountBy asks how many rows there are of each kind.
type CountBy struct {
	// By are the columns whose values tell the kinds apart; JSON and bytes have
	// none, and the scope is one only if it is named here.
	By    []string
	Where []Cond
	// OrderBy is the column whose lowest values are counted first; which of
	// several equal ones is left open. It is required, and rows that have NULL in
	// it are not counted. Text, integers and instants have an order here.
	OrderBy string
	// Limit is required: not more than so many rows are counted in all.
	Limit int
}

// Group is one kind of rows in the answer to a [CountBy].
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

// CountBy counts rows of scope by kind, in no particular order.
func (t *Table[R]) CountBy(ctx context.Context, from Reader, scope Scope, q CountBy) ([]GroupOf[R], error) {
	if err := t.CheckScope(scope); err != nil {
		return nil, err
	}
	return t.tally(ctx, from, Within(scope), q)
}

func (t *Table[R]) tally(ctx context.Context, from Reader, reach ScopeFilter, q CountBy) ([]GroupOf[R], error) {
	groups, err := from.CountBy(ctx, &t.Schema, reach, q)
	out := make([]GroupOf[R], len(groups))
	for i, g := range groups {
		out[i] = GroupOf[R]{any(g.Row).(*R), g.N}
	}
	return out, err
}
