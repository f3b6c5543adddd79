package filter

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/belfry-go/belfry/keys"
)

// maxSteps bounds the comparisons of one evaluation.
const maxSteps = 50_000

// Match reports whether values satisfy f; a nil filter is satisfied by all.
func (f *Filter) Match(values map[string]any) bool {
	if f == nil {
		return true
	}
	m := matcher{values: values}
	return m.match(f) && m.steps <= maxSteps
}

// matcher is one evaluation.
type matcher struct {
	values map[string]any
	steps  int
}

// step counts a comparison, and says whether there may be one.
func (m *matcher) step() bool {
	m.steps++
	return m.steps <= maxSteps
}

func (m *matcher) match(f *Filter) bool {
	if !m.step() {
		return false
	}
	switch {
	case f.All != nil:
		for i := range f.All {
			if !m.match(&f.All[i]) {
				return false
			}
		}
		return true
	case f.Any != nil:
		for i := range f.Any {
			if m.match(&f.Any[i]) {
				return true
			}
		}
		return false
	case f.Not != nil:
		return !m.match(f.Not)
	}
	return m.condition(f)
}

func (m *matcher) condition(f *Filter) bool {
	value := m.values[f.QuestionID] // nil: missing
	switch f.Op {
	case Exists:
		return (value != nil) == (f.Value != false)
	case Equal:
		return equal(operandOf(value), operandOf(f.Value))
	case NotEqual:
		return !equal(operandOf(value), operandOf(f.Value))
	case In:
		return m.has(f.Value, value)
	case NotIn:
		return !m.has(f.Value, value)
	case Contains:
		return m.contains(value, f.Value)
	case StartsWith:
		text, isText := value.(string)
		start, ok := f.Value.(string)
		return isText && ok && strings.HasPrefix(text, start)
	}
	return inOrder(f.Op, value, f.Value)
}

// has reports whether a list has an element that equals value.
func (m *matcher) has(list, value any) bool {
	elements, _ := list.([]any)
	same := operandOf(value)
	for _, e := range elements {
		if !m.step() {
			return false
		}
		if equal(same, operandOf(e)) {
			return true
		}
	}
	return false
}

func (m *matcher) contains(value, part any) bool {
	if text, ok := value.(string); ok {
		inside, ok := part.(string)
		return ok && strings.Contains(text, inside)
	}
	return m.has(value, part)
}

// operand is a side of a comparison. As a number it is read once, however many sides it
// is compared with.
type operand struct {
	value   any
	decimal string // of a text or number; empty: not read, or none
	read    bool
}

func operandOf(value any) *operand { return &operand{value: value} }

// number is the canonical spelling of what is a number, or a text that spells one.
func (o *operand) number() (decimal string, ok bool) {
	if !o.read {
		text, _, _ := spelled(o.value)
		o.decimal, _ = keys.Decimal(text)
		o.read = true
	}
	return o.decimal, o.decimal != ""
}

// equal reports whether two values are the same, by the table in the package
// comment.
func equal(a, b *operand) bool {
	if x, ok := a.value.(bool); ok {
		y, ok := b.value.(bool)
		return ok && x == y
	}
	n, ok := order(a, b)
	return ok && n == 0
}

// inOrder reports whether the comparison holds for two values.
func inOrder(op Op, a, b any) bool {
	n, ok := order(operandOf(a), operandOf(b))
	switch op {
	case More:
		return ok && n > 0
	case AtLeast:
		return ok && n >= 0
	case Less:
		return ok && n < 0
	case AtMost:
		return ok && n <= 0
	}
	return false
}

// order compares two texts or numbers: negative if a comes first. ok is false where
// they are in no order.
func order(a, b *operand) (n int, ok bool) {
	x, xNumber, ok := spelled(a.value)
	if !ok {
		return 0, false
	}
	y, yNumber, ok := spelled(b.value)
	if !ok {
		return 0, false
	}
	if xNumber || yNumber {
		return orderOfNumbers(a, b)
	}
	return strings.Compare(x, y), true
}

func orderOfNumbers(a, b *operand) (n int, ok bool) {
	x, ok := a.number()
	if !ok {
		return 0, false
	}
	y, ok := b.number()
	if !ok {
		return 0, false
	}
	return compareDecimals(x, y), true
}

// spelled is the spelling of a text or number.
func spelled(v any) (text string, number, ok bool) {
	switch v := v.(type) {
	case string:
		return v, false, true
	case json.Number:
		return string(v), true, true
	}
	return "", false, false
}

// CompareNumbers compares two decimals exactly: negative if a is less. ok is false
// if one of them is not a number to [keys.Decimal].
func CompareNumbers(a, b string) (n int, ok bool) {
	return orderOfNumbers(operandOf(a), operandOf(b))
}

// compareDecimals compares what keys.Decimal gives: two of one sign by the length of
// their whole parts, then digit by digit.
func compareDecimals(x, y string) int {
	x, xNegative := strings.CutPrefix(x, "-")
	y, yNegative := strings.CutPrefix(y, "-")
	if xNegative != yNegative {
		if xNegative {
			return -1
		}
		return 1
	}
	if xNegative {
		x, y = y, x
	}
	xWhole, _, _ := strings.Cut(x, ".")
	yWhole, _, _ := strings.Cut(y, ".")
	return cmp.Or(cmp.Compare(len(xWhole), len(yWhole)), strings.Compare(x, y))
}
