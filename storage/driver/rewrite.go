package driver

import (
	"context"
	"fmt"
	"slices"
)

// Rewriting is a table for who may change some of its fixed columns; see
// [Table.Rewriting].
type Rewriting[R any] struct {
	t      *Table[R]
	schema *Schema
}

// Rewriting is t for what no ordinary change does: moving a row to another unit, adding
// to what was settled, erasing a person. Save on it writes the named fixed columns too.
// It is called once, beside Define, and panics on a column that is not fixed or says
// which row it is. What it did belongs into an audit.
func (t *Table[R]) Rewriting(columns ...string) *Rewriting[R] {
	w := &Rewriting[R]{t: t, schema: &Schema{Name: t.Name, New: t.New, Due: t.Due, MaxRow: t.MaxRow, Whole: &t.Schema}}
	for _, name := range columns {
		if c := t.Column(name); !c.Fixed || slices.Contains([]string{"id", "scope", "key"}, name) {
			panic(fmt.Sprintf("storage: %s.%s cannot be rewritten", t.Name, name))
		}
	}
	for _, c := range t.Columns {
		c.Fixed = c.Fixed && !slices.Contains(columns, c.Name)
		w.schema.Columns = append(w.schema.Columns, c)
	}
	return w
}

// Table is the table whose columns are rewritten.
func (w *Rewriting[R]) Table() *Table[R] { return w.t }

// Save is [Table.Save], for the named columns too.
func (w *Rewriting[R]) Save(ctx context.Context, tx Tx, rows ...*R) error {
	return w.t.save(ctx, tx, w.schema, rows)
}
