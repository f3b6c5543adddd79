package storage

import "context"

// Settle is Save for rows of a claim: columns with the tag option "planned" stay
// as they are stored. They say what a row stands for, which whoever handles it
// does not change, so that a worker neither sends them back nor overwrites them.
func (t *Table[R]) Settle(ctx context.Context, tx Tx, rows ...*R) error {
	return t.save(ctx, tx, t.worked(), rows)
}

// worked is the table as workers see it, or the whole if they see all of it.
func (t *Table[R]) worked() *Schema {
	t.once.Do(func() {
		t.part = &t.Schema
		part := Schema{Name: t.Name, New: t.New, MaxRow: t.MaxRow, Whole: &t.Schema}
		differs := false
		for _, c := range t.Columns {
			if c.unclaimed || c.Name == t.Schema.Fingerprint {
				differs = true
				continue
			}
			differs = differs || c.planned
			c.Fixed = c.Fixed || c.planned
			part.Columns = append(part.Columns, c)
		}
		if differs {
			t.part = &part
		}
	})
	return t.part
}
