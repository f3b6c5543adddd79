package report

import (
	"errors"
	"fmt"

	"github.com/belfry-go/belfry/internal/storable"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage"
)

// faults collects all that is wrong with a subscription.
type faults []Fault

func (f *faults) add(path, format string, args ...any) {
	*f = append(*f, Fault{path, fmt.Sprintf(format, args...)})
}

// because adds err, if there is one.
func (f *faults) because(path string, err error) {
	if err != nil {
		f.add(path, "%v", err)
	}
}

// err is nil if nothing is wrong.
func (f faults) err(guid string) error {
	if len(f) == 0 {
		return nil
	}
	return &InvalidError{GUID: guid, Faults: f}
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
	case !storable.Text(text):
		f.add(path, "is not valid UTF-8, or holds a NUL")
	}
}
