package memory

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/belfry-go/belfry/storage"
)

// test says whether something holds for a row.
type test func(storage.Row) bool

// compile joins conditions by AND. It refuses a value that its column cannot be
// compared with, as a database would.
func compile(s *storage.Schema, where []storage.Cond) (test, error) {
	tests, err := compileEach(s, where)
	if err != nil {
		return nil, err
	}
	return func(r storage.Row) bool {
		for _, holds := range tests {
			if !holds(r) {
				return false
			}
		}
		return true
	}, nil
}

func compileEach(s *storage.Schema, conds []storage.Cond) ([]test, error) {
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

func compileOne(s *storage.Schema, c storage.Cond) (test, error) {
	if c.Op == storage.OpAny {
		return compileAny(s, c.Conds)
	}
	col := s.Column(c.Column)
	switch c.Op {
	case storage.OpNull:
		return func(r storage.Row) bool { return isNull(col, r) }, nil
	case storage.OpNotNull:
		return func(r storage.Row) bool { return !isNull(col, r) }, nil
	case storage.OpIn:
		return compileIn(s, col, c.Value)
	}
	if !canCompare(col, c.Value) {
		return nil, fmt.Errorf("memory: %s.%s cannot be compared with a %T", s.Name, col.Name, c.Value)
	}
	if t, ok := c.Value.(time.Time); ok && t.IsZero() {
		return func(storage.Row) bool { return false }, nil // a comparison with NULL
	}
	return func(r storage.Row) bool {
		return !isNull(col, r) && satisfies(c.Op, compareValue(col, r, c.Value))
	}, nil
}

func compileAny(s *storage.Schema, conds []storage.Cond) (test, error) {
	tests, err := compileEach(s, conds)
	if err != nil {
		return nil, err
	}
	return func(r storage.Row) bool {
		for _, holds := range tests {
			if holds(r) {
				return true
			}
		}
		return false
	}, nil
}

func compileIn(s *storage.Schema, col *storage.Column, list any) (test, error) {
	switch list := list.(type) {
	case []string:
		if col.Kind == storage.Text {
			set := setOf(list)
			return func(r storage.Row) bool { return !isNull(col, r) && set[col.Field(r).String()] }, nil
		}
	case []int64:
		if col.Kind == storage.Int {
			set := setOf(list)
			return func(r storage.Row) bool { return !isNull(col, r) && set[col.Field(r).Int()] }, nil
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

func satisfies(op storage.Op, order int) bool {
	switch op {
	case storage.OpLess:
		return order < 0
	case storage.OpAtMost:
		return order <= 0
	case storage.OpGreater:
		return order > 0
	case storage.OpAtLeast:
		return order >= 0
	default:
		return order == 0
	}
}

func isNull(c *storage.Column, r storage.Row) bool { return c.Null && c.Field(r).IsZero() }

func canCompare(c *storage.Column, v any) bool {
	switch v.(type) {
	case string:
		return c.Kind == storage.Text
	case int64:
		return c.Kind == storage.Int
	case bool:
		return c.Kind == storage.Bool
	case time.Time:
		return c.Kind == storage.Instant
	}
	return false
}

// compareValue orders a column that is not NULL against a value of its kind.
func compareValue(c *storage.Column, r storage.Row, v any) int {
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
