// Package check collects all that is wrong with what somebody wants to save,
// each fault with the field that it is in.
package check

import "strings"

// Fault is one thing that is wrong.
type Fault struct {
	// Path is the field, such as "SendAt" or "Recipients[1].Inbox".
	Path    string
	Problem string
}

func (f Fault) String() string { return f.Path + ": " + f.Problem }

// Faults are all that is wrong, in the order in which it was found.
type Faults []Fault

func (f Faults) String() string {
	texts := make([]string, len(f))
	for i, one := range f {
		texts[i] = one.String()
	}
	return strings.Join(texts, "; ")
}
