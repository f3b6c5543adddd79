package automation

import "fmt"

// CandidateError says which candidate of a call was refused, where and why.
// Nothing of the call was written.
type CandidateError struct {
	Index int    // of the candidate in the call, from 0
	Type  string // its Type or AutomationType
	Field string // the field at fault; empty if Err names it
	Err   error
}

func (e *CandidateError) Error() string {
	where := ""
	if e.Field != "" {
		where = ": " + e.Field
	}
	return fmt.Sprintf("automation: candidate %d (%.40q)%s: %v", e.Index, e.Type, where, e.Err)
}

// Unwrap returns the cause, a *keys.PartError where the key was refused.
func (e *CandidateError) Unwrap() error { return e.Err }
