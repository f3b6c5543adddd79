package filter

import (
	"strings"
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
		return equal(value, f.Value)
	case NotEqual:
		return !equal(value, f.Value)
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
	for _, e := range elements {
		if !m.step() {
			return false
		}
		if equal(value, e) {
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
