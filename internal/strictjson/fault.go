package strictjson

import (
	"fmt"
	"strings"
)

// Fault is one thing that is wrong, and where.
type Fault struct {
	// Path is such as "triggers[0].id"; empty: the text as a whole.
	Path, Problem string
}

func (f Fault) String() string {
	if f.Path == "" {
		return f.Problem
	}
	return f.Path + ": " + f.Problem
}

// maxFaults bounds what is listed of one text.
const maxFaults = 100

// Faults collects faults, the first hundred.
type Faults []Fault

// Add adds a fault.
func (f *Faults) Add(path, format string, args ...any) {
	if len(*f) < maxFaults {
		*f = append(*f, Fault{path, fmt.Sprintf(format, args...)})
	}
}

// AddBelow adds faults whose paths begin at path.
func (f *Faults) AddBelow(path string, below Faults) {
	for _, b := range below {
		f.Add(Below(path, b.Path), "%s", b.Problem)
	}
}

// Err is nil without faults, else an [*Error].
func (f Faults) Err() error {
	if len(f) == 0 {
		return nil
	}
	return &Error{f}
}

// Error lists faults. An UnmarshalJSON that returns one keeps their paths below its
// own.
type Error struct{ Faults Faults }

func (e *Error) Error() string {
	texts := make([]string, len(e.Faults))
	for i, f := range e.Faults {
		texts[i] = f.String()
	}
	return strings.Join(texts, "; ")
}
