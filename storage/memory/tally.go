package memory

import (
	"context"
	"fmt"
	"slices"

	"github.com/belfry-go/belfry/storage"
)

// Tally counts what Select would find, up to q.Limit, by kind.
func (t *tx) Tally(ctx context.Context, s *storage.Schema, scope storage.Scope, q storage.Tally) ([]storage.Group, error) {
	tab, err := t.table(ctx, s)
	if err != nil {
		return nil, err
	}
	order, columns, err := tallied(s, q)
	if err != nil {
		return nil, t.fail(err)
	}
	found, err := tab.find(s, scope, q.Where)
	if err != nil {
		return nil, t.fail(err)
	}
	found = slices.DeleteFunc(found, func(img *image) bool { return isNull(order, img.row) })
	slices.SortFunc(found, func(a, b *image) int { return compareColumn(order, a.row, b.row) })
	var groups []storage.Group
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
			groups = append(groups, storage.Group{Row: row}) // the first has the lowest value
		}
		groups[at].N++
	}
	return groups, nil
}

// tallied are the columns of a tally. It refuses what databases cannot do.
func tallied(s *storage.Schema, q storage.Tally) (order *storage.Column, by []*storage.Column, err error) {
	for _, name := range q.By {
		column := s.Column(name)
		if column.Kind == storage.JSON || column.Kind == storage.Bytes {
			return nil, nil, fmt.Errorf("memory: %s.%s has no kinds", s.Name, name)
		}
		by = append(by, column)
	}
	order = s.Column(q.OrderBy)
	switch order.Kind {
	case storage.JSON, storage.Bytes, storage.Bool:
		return nil, nil, fmt.Errorf("memory: %s.%s has no order to tally by", s.Name, q.OrderBy)
	}
	return order, by, nil
}

// kindOf is a row with nothing but the values that matter, and a text that is
// the same for all rows of its kind.
func kindOf(s *storage.Schema, by []*storage.Column, order *storage.Column, r storage.Row) (storage.Row, string, error) {
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
