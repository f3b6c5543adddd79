package filter_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/internal/filter"
)

// Whatever is accepted is within its bounds, is written and read back as the same,
// and is the opposite of its opposite. An evaluation allocates at most 16 MB.
func FuzzFilter(f *testing.F) {
	for _, text := range []string{yes, nested(7), many(3), listing(5), condition("startsWith", `"G"`), `{"all": [` + yes + `, {"questionId": "b", "op": "notIn", "value": ["x", 1e2, true]}]}`} {
		f.Add(text, `{"a": 1, "b": "x", "c": ["x", 2]}`)
	}
	f.Add(condition("==", `"1e999999999"`), `{"a": 1e999999999}`)
	f.Add(condition("contains", `"a"`), `{"a": [["a"], {"a": null}]}`)
	filterText, object := greedy()
	f.Add(filterText, object)
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
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		read.Match(event)
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 16<<20 {
			t.Errorf("%d bytes were allocated", used)
		}
		if not := (&filter.Filter{Not: &read}); not.Match(event) == read.Match(event) {
			t.Fatalf("%s and its opposite agree about %s", text, object)
		}
	})
}

// greedy is a filter that asks 99 times whether a list of 500 long numbers has another.
func greedy() (text, object string) {
	number := strings.Repeat("9", 59)
	one := fmt.Sprintf(`{"questionId": "a", "op": "contains", "value": %s8.5}`, number)
	return `{"any": [` + strings.Repeat(one+",", 98) + one + `]}`, `{"a": [` + strings.Repeat(number+"7.5,", 499) + number + `7.5]}`
}
