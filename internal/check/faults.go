package check

import (
	"errors"
	"fmt"
	"slices"

	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage"
)

// Add adds a fault.
func (f *Faults) Add(path, format string, args ...any) {
	*f = append(*f, Fault{path, fmt.Sprintf(format, args...)})
}

// Has reports whether something is wrong with one of those fields.
func (f Faults) Has(paths ...string) bool {
	return slices.ContainsFunc(f, func(one Fault) bool { return slices.Contains(paths, one.Path) })
}

// Because adds err, if there is one.
func (f *Faults) Because(path string, err error) {
	if err != nil {
		f.Add(path, "%v", err)
	}
}

// Part checks what becomes a component of keys.
func (f *Faults) Part(path, text string) {
	_, err := keys.Host{Type: text, SourceType: "x", Source: "x", TriggerKey: "x"}.Key()
	var refused *keys.PartError
	if errors.As(err, &refused) {
		f.Add(path, "%s", refused.Problem)
	}
}

// Optional checks a component that may be empty.
func (f *Faults) Optional(path, text string) {
	if text != "" {
		f.Part(path, text)
	}
}

// Scope checks the field of that name.
func (f *Faults) Scope(scope storage.Scope) {
	if scope == storage.AnyScope {
		f.Add("Scope", "is for reading only")
		return
	}
	f.Optional("Scope", string(scope))
}
