package report

import (
	"fmt"
	"strings"
)

// Fault is one thing that is wrong with a subscription.
type Fault struct {
	// Path is the field, such as "SendAt" or "Recipients[1].Inbox".
	Path    string
	Problem string
}

func (f Fault) String() string { return f.Path + ": " + f.Problem }

// InvalidError lists every fault of a subscription that was not saved.
type InvalidError struct {
	GUID   string
	Faults []Fault // at least one
}

func (e *InvalidError) Error() string {
	texts := make([]string, len(e.Faults))
	for i, f := range e.Faults {
		texts[i] = f.String()
	}
	return fmt.Sprintf("report: subscription %.60q: %s", e.GUID, strings.Join(texts, "; "))
}
