package memory

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/belfry-go/belfry/storage/driver"
)

// test says whether something holds for a row.
type test func(driver.Row) bool

// compile joins conditions by AND. It refuses a value that its column cannot be
// compared with, as a database would.
func compile(s *driver.Schema, where []driver.Cond) (test, error) {
	tests, err := compileEach(s, where)
	if err != nil {
		return nil, err
	}
	return func(r driver.Row) bool {
		for _, holds := range tests {
			if !holds(r) {
				return false
			}
		}
		return true
	}, nil
}

func compileEach(s *driver.Schema, conds []driver.Cond) ([]test, error) {
	tests := make([]test, len(conds))
	for i, c := range conds {
		holds, err := compileOne(s, c)
		if err != nil {
			return nil, err
		}
		tests[i] = holds
	}
	return tests, nil
}

func compileOne(s *driver.Schema, c driver.Cond) (test, error) {
	if c.Op == driver.OpAny {
		return compileAny(s, c.Conds)
	}
	col := s.Column(c.Column)
	switch c.Op {
	case driver.OpNull:
		return func(r driver.Row) bool { return isNull(col, r) }, nil
	case driver.OpNotNull:
		return func(r driver.Row) bool { return !isNull(col, r) }, nil
	case driver.OpIn:
		return compileIn(s, col, c.Value)
	}
	if !canCompare(col, c.Value) {
		return nil, fmt.Errorf("memory: %s.%s cannot be compared with a %T", s.Name, col.Name, c.Value)
	}
	if t, ok := c.Value.(time.Time); ok && t.IsZero() {
		return func(driver.Row) bool { return false }, nil // a comparison with NULL
	}
	return func(r driver.Row) bool {
		return !isNull(col, r) && satisfies(c.Op, compareValue(col, r, c.Value))
	}, nil
}

func compileAny(s *driver.Schema, conds []driver.Cond) (test, error) {
	tests, err := compileEach(s, conds)
	if err != nil {
		return nil, err
	}
	return func(r driver.Row) bool {
		for _, holds := range tests {
			if holds(r) {
				return true
			}
		}
		return false
	}, nil
}

func compileIn(s *driver.Schema, col *driver.Column, list any) (test, error) {
	switch list := list.(type) {
	case []string:
		if col.Type == driver.Text {
			set := setOf(list)
			return func(r driver.Row) bool { return !isNull(col, r) && set[col.Field(r).String()] }, nil
		}
	case []int64:
		if col.Type == driver.Int {
			set := setOf(list)
			return func(r driver.Row) bool { return !isNull(col, r) && set[col.Field(r).Int()] }, nil
		}
	}
	return nil, fmt.Errorf("memory: %s.%s cannot be in a %T", s.Name, col.Name, list)
}

func setOf[V int64 | string](list []V) map[V]bool {
	set := make(map[V]bool, len(list))
	for _, v := range list {
		set[v] = true
	}
	return set
}

func satisfies(op driver.Op, order int) bool {
	switch op {
	case driver.OpLess:
		return order < 0
	case driver.OpAtMost:
		return order <= 0
	case driver.OpGreater:
		return order > 0
	case driver.OpAtLeast:
		return order >= 0
	default:
		return order == 0
	}
}

func isNull(c *driver.Column, r driver.Row) bool { return c.Null && c.Field(r).IsZero() }

func canCompare(c *driver.Column, v any) bool {
	switch v.(type) {
	case string:
		return c.Type == driver.Text
	case int64:
		return c.Type == driver.Int
	case bool:
		return c.Type == driver.Bool
	case time.Time:
		return c.Type == driver.Instant
	}
	return false
}

// compareValue orders a column that is not NULL against a value of its kind.
func compareValue(c *driver.Column, r driver.Row, v any) int {
	f := c.Field(r)
	switch v := v.(type) {
	case int64:
		return cmp.Compare(f.Int(), v)
	case bool:
		return compareBool(f.Bool(), v)
	case time.Time:
		return instant(f).Compare(v)
	default:
		return strings.Compare(f.String(), v.(string))
	}
}

func instant(f reflect.Value) *time.Time { return f.Addr().Interface().(*time.Time) }

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// order is the order of a query's result and where its page begins.
type order struct {
	column *driver.Column // nil: by id alone
	desc   bool
	after  *driver.Position
	value  any // of after, canonical
}

func newOrder(s *driver.Schema, q driver.Query) (*order, error) {
	o := &order{desc: q.Desc, after: q.After}
	if q.OrderBy == "" {
		return o, nil
	}
	o.column = s.Column(q.OrderBy)
	switch o.column.Type {
	case driver.JSON, driver.Bytes:
		return nil, fmt.Errorf("memory: %s.%s has no order", s.Name, q.OrderBy)
	}
	if q.After == nil {
		return o, nil
	}
	o.value = driver.Eq(q.OrderBy, q.After.Value).Value
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
func compareColumn(c *driver.Column, a, b driver.Row) int {
	if an, bn := isNull(c, a), isNull(c, b); an || bn {
		return compareBool(!an, !bn)
	}
	fa, fb := c.Field(a), c.Field(b)
	switch c.Type {
	case driver.Int:
		return cmp.Compare(fa.Int(), fb.Int())
	case driver.Bool:
		return compareBool(fa.Bool(), fb.Bool())
	case driver.Instant:
		return instant(fa).Compare(*instant(fb))
	default:
		return strings.Compare(fa.String(), fb.String())
	}
}
