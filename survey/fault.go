package survey

import (
	"fmt"
	"strings"

	"github.com/belfry-go/belfry/internal/strictjson"
)

// Fault is one thing in a definition that is wrong, or allowed and probably not meant.
type Fault struct {
	// Path is where in the JSON, such as "triggers[0].schedule.initialDelay"; empty:
	// the definition as a whole.
	Path    string
	Problem string
}

func (f Fault) String() string { return strictjson.Fault(f).String() }

// DefinitionError lists every fault of a definition that was not published, the first
// hundred. Those of a [Version] itself have the name of its field as their path, such
// as "SurveyID".
type DefinitionError struct {
	Faults []Fault // at least one
}

func (e *DefinitionError) Error() string {
	const most = 10
	texts := make([]string, 0, most+1)
	for _, f := range e.Faults[:min(most, len(e.Faults))] {
		texts = append(texts, f.String())
	}
	if more := len(e.Faults) - most; more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return "survey: definition: " + strings.Join(texts, "; ")
}

// definitionError is nil if nothing is wrong.
func definitionError(found strictjson.Faults) error {
	if len(found) == 0 {
		return nil
	}
	return &DefinitionError{faultsOf(found)}
}

func faultsOf(found strictjson.Faults) []Fault {
	var out []Fault
	for _, f := range found {
		out = append(out, Fault(f))
	}
	return out
}
