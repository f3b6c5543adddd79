package form

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFlattenGivesValuesByTheirPaths(t *testing.T) {
	t.Parallel()
	values, err := Flatten(json.RawMessage(` {"wip":"40956","n":1.50,"big":12345678901234567890,"yes":true,"none":null,
		"car":{"VIN":"J","owner":{"name":"K"},"empty":{}},"lines":[1,"a",[true,null],{"b":2}]} `))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"candidate.wip": "40956", "candidate.n": json.Number("1.50"), "candidate.big": json.Number("12345678901234567890"),
		"candidate.yes": true, "candidate.none": nil, "candidate.car.VIN": "J", "candidate.car.owner.name": "K",
		"candidate.lines": []any{json.Number("1"), "a", []any{true, nil}, Object{}},
		"candidate.car":   Object{}, "candidate.car.owner": Object{}, "candidate.car.empty": Object{},
	}
	if diff := cmp.Diff(want, values); diff != "" {
		t.Error(diff)
	}
}

// As deep as it may go, in objects, arrays and both.
func TestFlattenTakes32Levels(t *testing.T) {
	t.Parallel()
	for _, payload := range []string{
		strings.Repeat(`{"a":`, 32) + `1` + strings.Repeat(`}`, 32),
		`{"a":` + strings.Repeat(`[`, 31) + strings.Repeat(`]`, 31) + `}`,
		strings.Repeat(`{"a":[`, 16) + `1` + strings.Repeat(`]}`, 16),
	} {
		if _, err := Flatten(json.RawMessage(payload)); err != nil {
			t.Errorf("%s: %v", payload, err)
		}
	}
}

// FuzzFlatten: whatever is accepted says what another reader of the JSON says, and
// each path has one value.
func FuzzFlatten(f *testing.F) {
	for _, s := range []string{
		`{}`, `{"a":1,"A":2}`, `{"a":{"b":1},"a.b":2}`, `{"a":[{"b":1,"b":2}]}`, `{"a":"\ud800"}`, `{"a":1e999}`, `{"":{"":""}}`, `{"a":[[[]]]}`, "{\"a\":\"\xff\"}", `{"a":-0.0}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		values, err := Flatten(payload)
		if err != nil {
			if len(err.Error()) > 300 {
				t.Fatalf("an error of %d bytes", len(err.Error()))
			}
			return
		}
		var whole map[string]any
		dec := json.NewDecoder(strings.NewReader(string(payload)))
		dec.UseNumber()
		if err := dec.Decode(&whole); err != nil {
			t.Fatal(err)
		}
		want := map[string]any{}
		parted := leaves(want, "candidate", whole)
		got, objects := map[string]any{}, 0
		for path, v := range values {
			if _, parted := v.(Object); parted {
				objects++
				continue
			}
			got[path] = text(v)
		}
		if diff := cmp.Diff(want, got); diff != "" || objects != parted-1 {
			t.Fatalf("%d objects, want %d: %s", objects, parted-1, diff)
		}
	})
}

// leaves notes the texts of the values in an object by their paths, and says how many objects
// there are, this one included.
func leaves(into map[string]any, path string, v any) (objects int) {
	object, ok := v.(map[string]any)
	if !ok {
		into[path] = text(v)
		return 0
	}
	for name, inner := range object {
		objects += leaves(into, path+"."+name, inner)
	}
	return objects + 1
}

// text is what a value says; of an array how long it is.
func text(v any) string {
	if array, ok := v.([]any); ok {
		return fmt.Sprint(len(array), " elements")
	}
	return fmt.Sprintf("%T %v", v, v)
}
