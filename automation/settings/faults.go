package settings

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/belfry-go/belfry/internal/storable"
)

// Fault is one problem of a setting, with the Path of its field, such as "SendAt" or
// "Thresholds[1].Value".
type Fault = storable.Fault

// InvalidError lists all faults of a setting. The setting was not saved.
type InvalidError struct {
	Kind   string // "reminder setting", "notification setting", "business unit"
	ID     string
	Faults []Fault // at least one
}

func (e *InvalidError) Error() string {
	return fmt.Sprintf("settings: %s %.60q: %s", e.Kind, e.ID, storable.Faults(e.Faults))
}

// Limits of one setting.
const (
	maxName = 200  // bytes
	maxList = 100  // entries
	maxText = 1000 // bytes of a cadence
)

// faults collects the faults of a setting.
type faults struct{ storable.Faults }

// err is nil if there are no faults.
func (f faults) err(kind, id string) error {
	if len(f.Faults) == 0 {
		return nil
	}
	return &InvalidError{Kind: kind, ID: id, Faults: f.Faults}
}

// text checks free text.
func (f *faults) text(path, text string, limit int) {
	switch {
	case len(text) > limit:
		f.Add(path, "has %d bytes, more than %d", len(text), limit)
	case !utf8.ValidString(text):
		f.Add(path, "is not valid UTF-8")
	case strings.Contains(text, "\x00"):
		f.Add(path, "holds a NUL")
	}
}

// distinct checks the length of a list and that its entries differ.
func distinct[T comparable](f *faults, path string, entries []T, limit int) {
	if len(entries) > limit {
		f.Add(path, "has %d entries, more than %d", len(entries), limit)
	}
	first := map[T]int{}
	for i, e := range entries {
		if before, twice := first[e]; twice {
			f.Add(fmt.Sprintf("%s[%d]", path, i), "is the same as %s[%d]", path, before)
			continue
		}
		first[e] = i
	}
}

// names checks a list of names, none of which may be empty.
func (f *faults) names(path string, names []string, limit int) {
	for i, name := range names {
		at := fmt.Sprintf("%s[%d]", path, i)
		if name == "" {
			f.Add(at, "is empty")
		}
		f.text(at, name, maxName)
	}
	distinct(f, path, names, limit)
}
