package repotest

import (
	"reflect"
	"strings"
	"testing"

	"github.com/belfry-go/belfry/storage/driver"
)

// Every table says how it grows, and every column that can hold words says what it
// tells about people: erasure, export and retention go by that. The columns that all
// tables have (Record) are the same everywhere.
func TestEveryTableSaysHowItGrowsAndWhatItKnowsOfPeople(t *testing.T) {
	t.Parallel()
	shared := map[string]bool{}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[driver.Record]()) {
		name, _, _ := strings.Cut(f.Tag.Get("db"), ",")
		shared[name] = true
	}
	for _, s := range schemas() {
		if s.Growth == "" {
			t.Errorf("%s does not say how it grows: Grows beside its Define", s.Name)
		}
		for _, c := range s.Columns {
			words := c.Type == driver.Text || c.Type == driver.JSON || c.Type == driver.Bytes
			if words && !shared[c.Name] && c.Data == "" {
				t.Errorf("%s.%s does not say what it tells about people: see driver.Data", s.Name, c.Name)
			}
		}
	}
}
