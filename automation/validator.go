package automation

import (
	"cmp"
	"context"
	"slices"
)

// Validator loads the source of a due row again and says whether the row is
// still wanted (Automation & Reminders, "Execution-time revalidation"). It may
// be called from several goroutines and again for the same row, and changes
// nothing. Without one a source counts as valid.
type Validator interface {
	Validate(ctx context.Context, d Due) (Validity, error)
}

// Validity is a Validator's answer: [StillValid], [NoLongerValid] or [AsksFor].
// The zero value is NoLongerValid without a reason of its own.
type Validity struct {
	valid      bool
	reason     Reason
	candidates []Candidate
	version    int64
}

// StillValid says that the source still wants what the row stands for.
func StillValid() Validity { return Validity{valid: true} }

// NoLongerValid says that the source is gone or wants no reminder any more: the
// row ends as Deactivated, which is no failure. An empty reason is
// SourceNoLongerValid.
func NoLongerValid(reason Reason) Validity { return Validity{reason: reason} }

// AsksFor says what the source asks for now, as a [TriggerProvider] would. A due
// row that is among the candidates with the InputHash it has is still valid. Any
// other ends as Deactivated, InputChanged, and the candidates are ensured in the
// same transaction; without any it ends as by NoLongerValid. The version is the
// source's, as in [Event]: candidates of an older one than an event has shown
// already are not ensured. Zero: there are no versions.
func AsksFor(version int64, c ...Candidate) Validity {
	return Validity{valid: len(c) > 0, candidates: slices.Clone(c), version: version}
}

// why is the reason for which the row ends; empty if it goes on.
func (v Validity) why() Reason {
	if v.valid {
		return ""
	}
	return cmp.Or(v.reason, SourceNoLongerValid)
}

// word names the answer for people.
func (v Validity) word() string {
	switch {
	case !v.valid:
		return string(v.why())
	case len(v.candidates) > 0:
		return "AsksFor"
	}
	return "StillValid"
}

// ValidatorFunc is a Validator made of a function.
type ValidatorFunc func(ctx context.Context, d Due) (Validity, error)

// Validate calls f.
func (f ValidatorFunc) Validate(ctx context.Context, d Due) (Validity, error) { return f(ctx, d) }
