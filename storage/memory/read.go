package memory

import (
	"context"
	"slices"

	"github.com/belfry-go/belfry/storage"
)

// Select looks rows up by id or key where the query names them, and otherwise
// looks at all rows of the table.
func (t *tx) Select(ctx context.Context, s *storage.Schema, scope storage.Scope, q storage.Query) ([]storage.Row, error) {
	tab, err := t.table(ctx, s)
	if err != nil {
		return nil, err
	}
	found, err := tab.find(s, scope, q.Where)
	if err != nil {
		return nil, t.fail(err)
	}
	order, err := newOrder(s, q)
	if err != nil {
		return nil, t.fail(err)
	}
	found = slices.DeleteFunc(found, func(img *image) bool { return !order.behind(img) })
	slices.SortFunc(found, order.compare)
	found = found[:min(len(found), max(q.Limit, 0))]
	rows := make([]storage.Row, len(found))
	for i, img := range found {
		if rows[i], err = tab.shape.load(img); err != nil {
			return nil, t.fail(err)
		}
		rows[i] = only(s, q.Columns, rows[i])
	}
	return rows, nil
}

// only leaves the columns that a query names, if it does, and the row's identity.
func only(s *storage.Schema, columns []string, row storage.Row) storage.Row {
	if len(columns) == 0 {
		return row
	}
	out := s.New()
	to, from := storage.RecordOf(out), storage.RecordOf(row)
	to.ID, to.Scope, to.Key = from.ID, from.Scope, from.Key
	for _, name := range columns {
		c := s.Column(name)
		c.Field(out).Set(c.Field(row))
	}
	return out
}

// Count counts what Select would find, up to limit.
func (t *tx) Count(ctx context.Context, s *storage.Schema, scope storage.Scope, where []storage.Cond, limit int) (int, error) {
	tab, err := t.table(ctx, s)
	if err != nil {
		return 0, err
	}
	found, err := tab.find(s, scope, where)
	if err != nil {
		return 0, t.fail(err)
	}
	return min(len(found), max(limit, 0)), nil
}

// find returns the rows of scope for which all conditions hold, in no order.
func (t *table) find(s *storage.Schema, scope storage.Scope, where []storage.Cond) ([]*image, error) {
	holds, err := compile(s, where)
	if err != nil {
		return nil, err
	}
	var found []*image
	add := func(e *entry) {
		if (scope == storage.AnyScope || e.img.rec.Scope == scope) && holds(e.img.row) {
			found = append(found, e.img)
		}
	}
	if named, ok := t.named(scope, where); ok {
		for _, e := range named {
			add(e)
		}
		return found, nil
	}
	for _, e := range t.byID {
		add(e)
	}
	return found, nil
}

// named returns the rows that a condition on id or key names, each once.
func (t *table) named(scope storage.Scope, where []storage.Cond) ([]*entry, bool) {
	for _, c := range where {
		if c.Op != storage.OpEq && c.Op != storage.OpIn {
			continue
		}
		switch {
		case c.Column == "id":
			return lookUp(listed[int64](c), func(id int64) *entry { return t.byID[id] }), true
		case c.Column == "key" && scope != storage.AnyScope:
			return lookUp(listed[string](c), func(key string) *entry { return t.byKey[identity{scope, key}] }), true
		}
	}
	return nil, false
}

func listed[V any](c storage.Cond) []V {
	if list, ok := c.Value.([]V); ok {
		return list
	}
	return []V{c.Value.(V)}
}

func lookUp[V comparable](values []V, get func(V) *entry) []*entry {
	seen := make(map[V]bool, len(values))
	var found []*entry
	for _, v := range values {
		if e := get(v); e != nil && !seen[v] {
			found = append(found, e)
		}
		seen[v] = true
	}
	return found
}

// Untouched returns the fingerprints of rows that are as Insert wrote them.
func (t *tx) Untouched(ctx context.Context, s *storage.Schema, scope storage.Scope, keys []string) ([]int64, error) {
	tab, err := t.table(ctx, s)
	if err != nil {
		return nil, err
	}
	column := s.Column(s.Fingerprint)
	var prints []int64
	for _, e := range lookUp(keys, func(key string) *entry { return tab.byKey[identity{scope, key}] }) {
		if e.img.rec.Version == 1 {
			prints = append(prints, column.Int(storage.FieldsOf(e.img.row)))
		}
	}
	return prints, nil
}
