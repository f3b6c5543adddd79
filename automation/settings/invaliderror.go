package settings

import (
	"fmt"

	"github.com/belfry-go/belfry/internal/check"
)

// Fault is one thing that is wrong with a setting: a Problem, and the Path of the
// field that it is in, such as "SendAt" or "Thresholds[1].Value".
type Fault = check.Fault

// InvalidError lists every fault of a setting that was not saved.
type InvalidError struct {
	Kind   string // "reminder setting", "notification setting", "business unit"
	ID     string
	Faults []Fault // at least one
}

func (e *InvalidError) Error() string {
	return fmt.Sprintf("settings: %s %.60q: %s", e.Kind, e.ID, check.Faults(e.Faults))
}
