package automation

import "context"

// Validator loads the source of a due row again and says whether the row is
// still wanted (Automation & Reminders, "Execution-time revalidation"). It may
// be called from several goroutines and again for the same row, and changes
// nothing. Without one a source counts as valid.
type Validator interface {
	Validate(ctx context.Context, d Due) (Validity, error)
}

// Validity is a Validator's answer. The zero value says that the source is no
// longer valid: Deactivated, SourceNoLongerValid.
type Validity struct {
	// Valid says that the source still exists and still wants reminders.
	Valid bool
	// Candidates are what the source asks for now, as from a [TriggerProvider]. If
	// there are any and the due row is not among them, with the InputHash it has,
	// it ends as Deactivated, InputChanged, and they are ensured in the same
	// transaction. None means that the row's own input still holds.
	Candidates []Candidate
	// Version is the source's, as in [Event]; Candidates of an older version than
	// an event has shown already are not ensured. Zero: there are no versions.
	Version int64
}

// ValidatorFunc is a Validator made of a function.
type ValidatorFunc func(ctx context.Context, d Due) (Validity, error)

// Validate calls f.
func (f ValidatorFunc) Validate(ctx context.Context, d Due) (Validity, error) { return f(ctx, d) }
