package storage

import (
	"context"
	"slices"
)

// Settle is Save for rows of a claim: columns with the tag option "planned" stay
// as they are stored. They say what a row stands for, which whoever handles it
// does not change, so that a worker neither sends them back nor overwrites them.
func (t *Table[R]) Settle(ctx context.Context, tx Tx, rows ...*R) error {
	return t.save(ctx, tx, t.worked(), rows)
}

// worked is the table as workers see it, or the whole if they see all of it.
func (t *Table[R]) worked() *Schema {
	t.once.Do(func() {
		part := &Schema{Name: t.Name, New: t.New, MaxRow: t.MaxRow, Whole: &t.Schema}
		for _, c := range t.Columns {
			c.Fixed = c.Fixed || c.planned
			if !c.unclaimed && c.Name != t.Schema.Fingerprint {
				part.Columns = append(part.Columns, c)
			}
		}
		if t.part = part; slices.Equal(part.Columns, t.Columns) {
			t.part = &t.Schema
		}
	})
	return t.part
}
