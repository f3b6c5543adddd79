package keys

import (
	"strconv"
	"strings"
)

// What stands in the key of a policy that looks at neither value nor scope.
const (
	anyValue    = "any"
	sourceScope = "source"
)

// Firing is one firing of a threshold condition, from which the policy makes
// two components of its key:
//
//	policy            thresholdValue        scopeKey
//	OncePerSource     any                   source
//	OncePerThreshold  the canonical value   the scope
//	OncePerDay        the canonical value   {scope}@{local date}
//	FalseToTrue       the canonical value   {scope}@{rises}
//
// Fields that the policy does not use are ignored, so a caller may fill in
// all of them.
type Firing struct {
	Policy    FiringPolicy
	Value     string // the threshold as somebody wrote it; see Decimal
	Scope     string // the provider's scope, without ':' and '@'
	LocalDate string // the day in the business unit's zone, 2006-01-02
	Rises     int64  // how often the condition has risen from false to true, from 1
}

// Parts gives [Threshold.Value] and [Threshold.ScopeKey]. An '@' in Scope is
// refused, since the policies put it before the date or the number. The error
// is a [*PartError].
func (f Firing) Parts() (value, scopeKey string, err error) {
	value, scopeKey, refused := f.parts()
	if refused != nil {
		return "", "", refused
	}
	return value, scopeKey, nil
}

func (f Firing) parts() (value, scopeKey string, refused *PartError) {
	suffix, refused := f.suffix()
	if refused != nil {
		return "", "", refused
	}
	if f.Policy == OncePerSource {
		return anyValue, sourceScope, nil
	}
	value, problem := canonicalDecimal(f.Value)
	if problem != "" {
		return "", "", thresholdError("thresholdValue", f.Value, problem)
	}
	if p := textProblem(f.Scope, MaxPartLen-len(suffix), ":@"); p != "" {
		return "", "", thresholdError("scope", "", p)
	}
	return value, f.Scope + suffix, nil
}

// suffix is what the policy appends to the scope.
func (f Firing) suffix() (string, *PartError) {
	switch f.Policy {
	case OncePerSource, OncePerThreshold:
		return "", nil
	case OncePerDay:
		if p := dateProblem(f.LocalDate); p != "" {
			return "", thresholdError("localDate", f.LocalDate, p)
		}
		return "@" + f.LocalDate, nil
	case FalseToTrue:
		n := strconv.FormatInt(f.Rises, 10)
		if f.Rises < 1 {
			return "", thresholdError("rises", n, "is not a number from 1")
		}
		return "@" + n, nil
	}
	return "", thresholdError("firingPolicy", string(f.Policy), "is none of OncePerSource, OncePerThreshold, OncePerDay, FalseToTrue")
}

// firingOf is the inverse of parts for what parts gives; for anything else
// the result is refused by parts, or gives other components.
func firingOf(policy FiringPolicy, value, scopeKey string) Firing {
	f := Firing{Policy: policy, Value: value, Scope: scopeKey}
	switch policy {
	case OncePerDay:
		f.Scope, f.LocalDate, _ = strings.Cut(scopeKey, "@")
	case FalseToTrue:
		scope, n, _ := strings.Cut(scopeKey, "@")
		f.Scope = scope
		f.Rises, _ = strconv.ParseInt(n, 10, 64) // what it is not, is 0 or written otherwise
	}
	return f
}

func thresholdError(part, value, problem string) *PartError {
	return &PartError{Kind: "threshold", Part: part, Problem: problem, Value: excerpt(value)}
}
