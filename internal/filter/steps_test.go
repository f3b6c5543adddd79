package filter

import (
	"encoding/json"
	"strings"
	"testing"
)

// steps evaluates and counts.
func steps(t *testing.T, f *Filter, values map[string]any) (matched bool, n int) {
	t.Helper()
	m := matcher{values: values}
	m.match(f)
	return f.Match(values), m.steps
}

// The largest filter over the largest answers is decided within the bound.
func TestStepsStayFarBelowTheirBound(t *testing.T) {
	t.Parallel()
	f := &Filter{Any: make([]Filter, MaxNodes-1)}
	for i := range f.Any {
		f.Any[i] = Filter{QuestionID: "list", Op: Contains, Value: json.Number("-1")}
	}
	if faults := f.Validate(); faults != nil {
		t.Fatal(faults)
	}
	list := make([]any, 200)
	for i := range list {
		list[i] = strings.Repeat("9", 60)
	}
	if matched, n := steps(t, f, map[string]any{"list": list}); matched || n != 100+99*200 {
		t.Error(matched, n)
	}
}

// Values that make it longer end it, and it is false: also if its opposite is asked
// for.
func TestTooManyStepsAreFalse(t *testing.T) {
	t.Parallel()
	values := map[string]any{"list": make([]any, 10*maxSteps)}
	contains := Filter{QuestionID: "list", Op: Contains, Value: "a"}
	for name, f := range map[string]*Filter{"plain": &contains, "not": {Not: &contains}} {
		if matched, n := steps(t, f, values); matched || n > maxSteps+2 {
			t.Errorf("%s: %v after %d steps", name, matched, n)
		}
	}
	endless := &Filter{}
	endless.Not = endless
	if matched, n := steps(t, endless, nil); matched || n > maxSteps+1 {
		t.Error(matched, n)
	}
	wide := &Filter{Any: make([]Filter, 2)}
	wide.Any[0].Any, wide.Any[1].Any = wide.Any, wide.Any
	if matched, n := steps(t, wide, nil); matched || n > 3*maxSteps {
		t.Error(matched, n)
	}
}
