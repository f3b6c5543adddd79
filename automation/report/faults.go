package report

import (
	"github.com/belfry-go/belfry/internal/check"
	"github.com/belfry-go/belfry/internal/storable"
)

// faults collects all that is wrong with a subscription.
type faults struct{ check.Faults }

// err is nil if nothing is wrong.
func (f faults) err(guid string) error {
	if len(f.Faults) == 0 {
		return nil
	}
	return &InvalidError{GUID: guid, Faults: f.Faults}
}

// text checks free text.
func (f *faults) text(path, text string, limit int) {
	switch {
	case len(text) > limit:
		f.Add(path, "has %d bytes, more than %d", len(text), limit)
	case !storable.Text(text):
		f.Add(path, "is not valid UTF-8, or holds a NUL")
	}
}
