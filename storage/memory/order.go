package memory

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/belfry-go/belfry/storage"
)

// order is the order of a query's result and where its page begins.
type order struct {
	column *storage.Column // nil: by id alone
	desc   bool
	after  *storage.Position
	value  any // of after, canonical
}

func newOrder(s *storage.Schema, q storage.Query) (*order, error) {
	o := &order{desc: q.Desc, after: q.After}
	if q.OrderBy == "" {
		return o, nil
	}
	o.column = s.Column(q.OrderBy)
	switch o.column.Kind {
	case storage.JSON, storage.Bytes:
		return nil, fmt.Errorf("memory: %s.%s has no order", s.Name, q.OrderBy)
	}
	if q.After == nil {
		return o, nil
	}
	o.value = storage.Eq(q.OrderBy, q.After.Value).Value
	if !canCompare(o.column, o.value) {
		return nil, fmt.Errorf("memory: page of %s.%s begins at a %T", s.Name, q.OrderBy, q.After.Value)
	}
	return o, nil
}

func (o *order) compare(a, b *image) int {
	c := 0
	if o.column != nil {
		c = compareColumn(o.column, a.row, b.row)
	}
	return o.directed(cmp.Or(c, cmp.Compare(a.rec.ID, b.rec.ID)))
}

func (o *order) directed(c int) int {
	if o.desc {
		return -c
	}
	return c
}

// behind reports whether img comes after the end of the page before.
func (o *order) behind(img *image) bool {
	if o.after == nil {
		return true
	}
	c := 0
	if o.column != nil {
		if isNull(o.column, img.row) {
			c = -1
		} else {
			c = compareValue(o.column, img.row, o.value)
		}
	}
	return o.directed(cmp.Or(c, cmp.Compare(img.rec.ID, o.after.ID))) > 0
}

// compareColumn orders two rows by a column, NULL first.
func compareColumn(c *storage.Column, a, b storage.Row) int {
	if an, bn := isNull(c, a), isNull(c, b); an || bn {
		return compareBool(!an, !bn)
	}
	fa, fb := c.Field(a), c.Field(b)
	switch c.Kind {
	case storage.Int:
		return cmp.Compare(fa.Int(), fb.Int())
	case storage.Bool:
		return compareBool(fa.Bool(), fb.Bool())
	case storage.Instant:
		return instant(fa).Compare(*instant(fb))
	default:
		return strings.Compare(fa.String(), fb.String())
	}
}
