package strictjson_test

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/internal/strictjson"
)

func TestFieldsAreThoseOfTheTags(t *testing.T) {
	t.Parallel()
	var got []string
	for _, f := range strictjson.Fields(reflect.TypeFor[menu]()) {
		name := f.Name
		if f.Required {
			name += "!"
		}
		got = append(got, name)
	}
	want := []string{"name!", "dishes", "best", "open", "seats", "price", "mood", "since", "extra", "tax"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
