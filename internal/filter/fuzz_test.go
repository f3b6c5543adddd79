package filter_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/internal/filter"
)

// Whatever is accepted is within its bounds, is written and read back as the same,
// and is the opposite of its opposite.
func FuzzFilter(f *testing.F) {
	for _, text := range []string{yes, nested(7), many(3), listing(5), condition("startsWith", `"G"`), `{"all": [` + yes + `, {"questionId": "b", "op": "notIn", "value": ["x", 1e2, true]}]}`} {
		f.Add(text, `{"a": 1, "b": "x", "c": ["x", 2]}`)
	}
	f.Add(condition("==", `"1e999999999"`), `{"a": 1e999999999}`)
	f.Add(condition("contains", `"a"`), `{"a": [["a"], {"a": null}]}`)
	f.Fuzz(func(t *testing.T, text, object string) {
		var read, again filter.Filter
		if json.Unmarshal([]byte(text), &read) != nil {
			return
		}
		if faults := read.Validate(); len(faults) > 0 {
			t.Fatalf("%s was read: %v", text, faults)
		}
		written, err := json.Marshal(read)
		if err == nil {
			err = json.Unmarshal(written, &again)
		}
		if diff := cmp.Diff(read, again); diff != "" || err != nil {
			t.Fatalf("%s became %s: %v\n%s", text, written, err, diff)
		}
		if !json.Valid([]byte(object)) || object[0] != '{' {
			return
		}
		event := values(t, object)
		if not := (&filter.Filter{Not: &read}); not.Match(event) == read.Match(event) {
			t.Fatalf("%s and its opposite agree about %s", text, object)
		}
	})
}
