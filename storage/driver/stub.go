package driver

import (
	"context"
	"slices"
	"time"
)

// Tombstone is embedded by rows that can be forgotten but for what keeps a repeated wish from
// happening twice.
type Tombstone struct {
	// ForgottenOn is when the row became a stub; zero: it is whole.
	ForgottenOn time.Time `db:"forgotten_on,fixed,unclaimed"`
	// ErasedOn is when it became one since a person was erased, so that not even what it
	// said can be compared; zero: it was not.
	ErasedOn time.Time `db:"erased_on,fixed,unclaimed"`
}

// IsTombstone reports whether little of the row is left.
func (s Tombstone) IsTombstone() bool { return !s.ForgottenOn.IsZero() }

// IsErased reports whether it is a stub since a person was erased.
func (s Tombstone) IsErased() bool { return !s.ErasedOn.IsZero() }

// stub lets Save of [Tombstones] write a row without knowing its type.
func (s *Tombstone) stub() *Tombstone { return s }

// Tombstones makes stubs of the rows of a table; see [Table.Tombstones].
type Tombstones[R any] struct {
	w      *Rewriting[R]
	empty  []*Column
	erases bool
}

// Tombstones declares what is left of a row of t that is forgotten, which embeds [Tombstone]: its
// scope, key, kind, status, version and lane, and the columns that are named. Columns
// that tell about people may be named only where they are a part of the answer. It is
// called once, beside Define, and panics on a table whose rows embed no Tombstone.
func (t *Table[R]) Tombstones(keep ...string) *Tombstones[R] {
	if _, ok := any(new(R)).(interface{ stub() *Tombstone }); !ok {
		panic("storage: " + t.Name + ": its rows embed no Tombstone")
	}
	for _, name := range keep {
		t.Column(name) // panics
	}
	keep = append([]string{"id", "scope", "key", "kind", "status", "version", "lane", "forgotten_on", "erased_on"}, keep...)
	rewritten := []string{"forgotten_on", "erased_on"}
	s := &Tombstones[R]{}
	for i := range t.Columns {
		c := &t.Columns[i]
		if slices.Contains(keep, c.Name) {
			continue
		}
		s.empty = append(s.empty, c)
		if c.Fixed {
			rewritten = append(rewritten, c.Name)
		}
	}
	s.w = t.Rewriting(rewritten...)
	return s
}

// Erasures is Tombstones for rows whose person is erased: what is named is not about a person.
func (t *Table[R]) Erasures(keep ...string) *Tombstones[R] {
	s := t.Tombstones(keep...)
	s.erases = true
	return s
}

// Empties reports whether a column is empty in a stub.
func (s *Tombstones[R]) Empties(column string) bool {
	return slices.ContainsFunc(s.empty, func(c *Column) bool { return c.Name == column })
}

// Save makes stubs of rows, each only if it was not written since it was read; losers are
// reported as by [Table.Save], and stay whole.
func (s *Tombstones[R]) Save(ctx context.Context, tx Tx, rows ...*R) error {
	s.Make(Now(tx.Store()), rows...)
	return s.w.Save(ctx, tx, rows...)
}

// Make makes stubs of rows that are not stored yet.
func (s *Tombstones[R]) Make(now time.Time, rows ...*R) {
	for _, r := range rows {
		fields := FieldsOf(s.w.t.row(r))
		for _, c := range s.empty {
			c.In(fields).SetZero()
		}
		stub := any(r).(interface{ stub() *Tombstone }).stub()
		stub.ForgottenOn = now
		if s.erases {
			stub.ErasedOn = now
		}
	}
}
