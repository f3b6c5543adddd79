package keys

import (
	"fmt"
	"strings"
)

// maxExcerpt is how many bytes of a refused value an error shows.
const maxExcerpt = 32

// PartError says which component of which format was refused, and why. Every
// error of this package is one. It carries no free text of the caller (ids,
// scopes), which may be personal, so it can be logged.
type PartError struct {
	Kind    string // the format, such as "reminder", "threshold" or "identity"
	Part    string // its component, such as "triggerKey"; empty: the whole
	Problem string // what is wrong, such as "holds ':' at byte 3"

	// Value is the refused value of a component with a closed format (a date,
	// a number, a policy), at most 32 bytes of it; empty for free text.
	Value string
}

// Error names the format, the component and the problem in one line.
func (e *PartError) Error() string {
	var b strings.Builder
	b.WriteString("keys: " + e.Kind)
	if e.Part != "" {
		b.WriteString(": " + e.Part)
	}
	if e.Value != "" {
		fmt.Fprintf(&b, " %q", e.Value)
	}
	return b.String() + ": " + e.Problem
}

// excerpt cuts a refused value to what an error may show.
func excerpt(value string) string {
	if len(value) <= maxExcerpt {
		return value
	}
	return value[:maxExcerpt-3] + "..."
}
