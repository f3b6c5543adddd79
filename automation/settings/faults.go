package settings

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage"
)

// Bounds of what one setting may hold.
const (
	maxName = 200  // bytes
	maxList = 100  // entries
	maxText = 1000 // bytes of a cadence
)

// faults collects what is wrong.
type faults []Fault

func (f *faults) add(path, format string, args ...any) {
	*f = append(*f, Fault{path, fmt.Sprintf(format, args...)})
}

// err is nil if nothing is wrong.
func (f faults) err(kind, id string) error {
	if len(f) == 0 {
		return nil
	}
	return &InvalidError{Kind: kind, ID: id, Faults: f}
}

// of reports whether something is wrong with one of those fields.
func (f faults) of(paths ...string) bool {
	return slices.ContainsFunc(f, func(one Fault) bool { return slices.Contains(paths, one.Path) })
}

// because adds err, if there is one.
func (f *faults) because(path string, err error) {
	if err != nil {
		f.add(path, "%v", err)
	}
}

// part checks what becomes a component of keys.
func (f *faults) part(path, text string) {
	_, err := keys.Host{Type: text, SourceType: "x", Source: "x", TriggerKey: "x"}.Key()
	var refused *keys.PartError
	if errors.As(err, &refused) {
		f.add(path, "%s", refused.Problem)
	}
}

// optional checks a component that may be empty.
func (f *faults) optional(path, text string) {
	if text != "" {
		f.part(path, text)
	}
}

func (f *faults) scope(scope storage.Scope) {
	if scope == storage.AnyScope {
		f.add("Scope", "is for reading only")
		return
	}
	f.optional("Scope", string(scope))
}

// text checks free text.
func (f *faults) text(path, text string, limit int) {
	switch {
	case len(text) > limit:
		f.add(path, "has %d bytes, more than %d", len(text), limit)
	case !utf8.ValidString(text):
		f.add(path, "is not valid UTF-8")
	case strings.Contains(text, "\x00"):
		f.add(path, "holds a NUL")
	}
}

// list checks how long a list is, and that no two entries are the same.
func list[T comparable](f *faults, path string, entries []T, limit int) {
	if len(entries) > limit {
		f.add(path, "has %d entries, more than %d", len(entries), limit)
	}
	first := map[T]int{}
	for i, e := range entries {
		if before, twice := first[e]; twice {
			f.add(fmt.Sprintf("%s[%d]", path, i), "is the same as %s[%d]", path, before)
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
			f.add(at, "is empty")
		}
		f.text(at, name, maxName)
	}
	list(f, path, names, limit)
}
