package settings

import (
	"fmt"
	"strings"
)

// Fault is one thing that is wrong with a setting.
type Fault struct {
	// Path is the field, such as "SendAt" or "Thresholds[1].Value".
	Path    string
	Problem string
}

func (f Fault) String() string { return f.Path + ": " + f.Problem }

// InvalidError lists every fault of a setting that was not saved.
type InvalidError struct {
	Kind   string // "reminder setting", "notification setting", "business unit"
	ID     string
	Faults []Fault // at least one
}

func (e *InvalidError) Error() string {
	texts := make([]string, len(e.Faults))
	for i, f := range e.Faults {
		texts[i] = f.String()
	}
	return fmt.Sprintf("settings: %s %.60q: %s", e.Kind, e.ID, strings.Join(texts, "; "))
}
