package report

import (
	"fmt"

	"github.com/belfry-go/belfry/internal/check"
)

// Fault is one thing that is wrong with a subscription: a Problem, and the Path of
// the field that it is in, such as "SendAt" or "Recipients[1].Inbox".
type Fault = check.Fault

// InvalidError lists every fault of a subscription that was not saved.
type InvalidError struct {
	GUID   string
	Faults []Fault // at least one
}

func (e *InvalidError) Error() string {
	return fmt.Sprintf("report: subscription %.60q: %s", e.GUID, check.Faults(e.Faults))
}
