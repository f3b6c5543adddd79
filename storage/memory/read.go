package memory

import (
	"context"
	"fmt"
	"slices"

	"github.com/belfry-go/belfry/storage/driver"
)

// Select looks rows up by id or key where the query names them, and otherwise
// looks at all rows of the table.
func (t *tx) Select(ctx context.Context, s *driver.Schema, reach driver.ScopeFilter, q driver.Query) ([]driver.Row, error) {
	tab, err := t.table(ctx, s)
	if err != nil {
		return nil, err
	}
	if len(q.Parents) > 0 {
		return t.selectUnder(ctx, s, reach, q)
	}
	found, err := tab.find(s, reach, q.Where)
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
	rows := make([]driver.Row, len(found))
	for i, img := range found {
		if rows[i], err = tab.shape.load(img); err != nil {
			return nil, t.fail(err)
		}
		rows[i] = only(s, q.Columns, rows[i])
	}
	return rows, nil
}

// selectUnder selects behind one key after the other.
func (t *tx) selectUnder(ctx context.Context, s *driver.Schema, reach driver.ScopeFilter, q driver.Query) (all []driver.Row, err error) {
	one := q
	one.Parents, one.OrderBy = nil, "key"
	for _, key := range q.Parents {
		one.Where = slices.Concat(driver.ChildrenOf(key), q.Where)
		rows, err := t.Select(ctx, s, reach, one)
		if err != nil {
			return nil, err
		}
		all = append(all, rows...)
	}
	return all, nil
}

// Get looks rows up by scope and key.
func (t *tx) Get(ctx context.Context, s *driver.Schema, places []driver.ScopedKey, columns []string) ([]driver.Row, error) {
	tab, err := t.table(ctx, s)
	if err != nil {
		return nil, err
	}
	var rows []driver.Row
	for _, p := range places {
		e := tab.byKey[p]
		if e == nil {
			continue
		}
		row, err := tab.shape.load(e.img)
		if err != nil {
			return nil, t.fail(err)
		}
		rows = append(rows, only(s, columns, row))
	}
	return rows, nil
}

// only leaves the columns that a query names, if it does, and the row's identity.
func only(s *driver.Schema, columns []string, row driver.Row) driver.Row {
	if len(columns) == 0 {
		return row
	}
	out := s.New()
	to, from := driver.RecordOf(out), driver.RecordOf(row)
	to.ID, to.Scope, to.Key = from.ID, from.Scope, from.Key
	for _, name := range columns {
		c := s.Column(name)
		c.Field(out).Set(c.Field(row))
	}
	return out
}

// Count counts what Select would find, up to limit.
func (t *tx) Count(ctx context.Context, s *driver.Schema, reach driver.ScopeFilter, where []driver.Cond, limit int) (int, error) {
	tab, err := t.table(ctx, s)
	if err != nil {
		return 0, err
	}
	found, err := tab.find(s, reach, where)
	if err != nil {
		return 0, t.fail(err)
	}
	return min(len(found), max(limit, 0)), nil
}

// find returns the rows within reach for which all conditions hold, in no order.
func (t *table) find(s *driver.Schema, reach driver.ScopeFilter, where []driver.Cond) ([]*image, error) {
	holds, err := compile(s, where)
	if err != nil {
		return nil, err
	}
	scope, one := reach.Scope()
	var found []*image
	add := func(e *entry) {
		if (!one || e.img.rec.Scope == scope) && holds(e.img.row) {
			found = append(found, e.img)
		}
	}
	if named, ok := t.named(reach, where); ok {
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
func (t *table) named(reach driver.ScopeFilter, where []driver.Cond) ([]*entry, bool) {
	scope, one := reach.Scope()
	for _, c := range where {
		if c.Op != driver.OpEq && c.Op != driver.OpIn {
			continue
		}
		switch {
		case c.Column == "id":
			return lookUp(listed[int64](c), func(id int64) *entry { return t.byID[id] }), true
		case c.Column == "key" && one:
			return lookUp(listed[string](c), func(key string) *entry { return t.byKey[driver.ScopedKey{Scope: scope, Key: key}] }), true
		}
	}
	return nil, false
}

func listed[V any](c driver.Cond) []V {
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

// HasChildren looks at all rows once.
func (t *tx) HasChildren(ctx context.Context, s *driver.Schema, places []driver.ScopedKey, where []driver.Cond) ([]int, error) {
	tab, err := t.table(ctx, s)
	if err != nil {
		return nil, err
	}
	rows, err := tab.find(s, driver.Everywhere(), where)
	if err != nil {
		return nil, t.fail(err)
	}
	of := map[driver.Scope][]string{}
	for _, img := range rows {
		of[img.rec.Scope] = append(of[img.rec.Scope], img.rec.Key)
	}
	for _, keys := range of {
		slices.Sort(keys)
	}
	var found []int
	for i, p := range places {
		from, to := driver.ChildKeys(p.Key)
		keys := of[p.Scope]
		if at, _ := slices.BinarySearch(keys, from+"\x00"); at < len(keys) && keys[at] < to {
			found = append(found, i)
		}
	}
	return found, nil
}

// CountBy counts what Select would find, up to q.Limit, by kind.
func (t *tx) CountBy(ctx context.Context, s *driver.Schema, reach driver.ScopeFilter, q driver.CountBy) ([]driver.Group, error) {
	tab, err := t.table(ctx, s)
	if err != nil {
		return nil, err
	}
	order, columns, err := tallied(s, q)
	if err != nil {
		return nil, t.fail(err)
	}
	found, err := tab.find(s, reach, q.Where)
	if err != nil {
		return nil, t.fail(err)
	}
	found = slices.DeleteFunc(found, func(img *image) bool { return isNull(order, img.row) })
	slices.SortFunc(found, func(a, b *image) int { return compareColumn(order, a.row, b.row) })
	var groups []driver.Group
	places := map[string]int{}
	for _, img := range found[:min(len(found), max(q.Limit, 0))] {
		row, kind, err := kindOf(s, columns, order, img.row)
		if err != nil {
			return nil, t.fail(err)
		}
		at, known := places[kind]
		if !known {
			at = len(groups)
			places[kind] = at
			groups = append(groups, driver.Group{Row: row}) // the first has the lowest value
		}
		groups[at].N++
	}
	return groups, nil
}

// tallied are the columns of a tally. It refuses what databases cannot do.
func tallied(s *driver.Schema, q driver.CountBy) (order *driver.Column, by []*driver.Column, err error) {
	for _, name := range q.By {
		column := s.Column(name)
		if column.Type == driver.JSON || column.Type == driver.Bytes {
			return nil, nil, fmt.Errorf("memory: %s.%s has no kinds", s.Name, name)
		}
		by = append(by, column)
	}
	order = s.Column(q.OrderBy)
	switch order.Type {
	case driver.JSON, driver.Bytes, driver.Bool:
		return nil, nil, fmt.Errorf("memory: %s.%s has no order to tally by", s.Name, q.OrderBy)
	}
	return order, by, nil
}

// kindOf is a row with nothing but the values that matter, and a text that is
// the same for all rows of its kind.
func kindOf(s *driver.Schema, by []*driver.Column, order *driver.Column, r driver.Row) (driver.Row, string, error) {
	out, kind := s.New(), ""
	for _, c := range by {
		v, err := c.Value(r)
		if err == nil {
			err = c.Set(out, v)
		}
		if err != nil {
			return nil, "", err
		}
		kind += fmt.Sprintf("%q ", fmt.Sprint(v))
	}
	v, err := order.Value(r)
	if err == nil {
		err = order.Set(out, v)
	}
	return out, kind, err
}
