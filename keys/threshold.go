package keys

import (
	"strconv"
	"strings"
)

// Threshold is the identity of one firing of a threshold condition
// (Automation & Reminders, "Two trigger types"):
//
//	reminder:{setting}:{sourceType}:{source}:{triggerKey}:threshold:{metricKey}:{thresholdValue}:{firingPolicy}:{scopeKey}
//
// Value and ScopeKey follow from the policy: make them by [Firing.Parts]. Key refuses a
// pair that Parts would not make, so 0.9 and 0.90 cannot become two reminders.
type Threshold struct {
	Setting    string       // the reminder setting, usually its GUID
	SourceType string       // the kind of aggregate, such as "class"
	Source     string       // its id
	TriggerKey string       // tells several triggers of one setting apart
	Metric     string       // what is measured, such as "occupancy"
	Value      string       // "any" under OncePerSource, else a canonical decimal
	Policy     FiringPolicy // how often a met condition fires
	ScopeKey   string       // derived from the provider's scope by the policy
}

// Key builds the key. The error is a [*PartError].
func (k Threshold) Key() (string, error) {
	b := newBuilder("threshold", "reminder")
	b.origin(k.Setting, k.SourceType, k.Source, k.TriggerKey)
	b.literal("threshold")
	b.part("metricKey", k.Metric)
	b.firing(k.Policy, k.Value, k.ScopeKey)
	return b.key()
}

// firing writes thresholdValue, firingPolicy and scopeKey, and refuses others than the
// policy makes.
func (b *builder) firing(policy FiringPolicy, value, scopeKey string) {
	wantValue, wantScope, err := firingOf(policy, value, scopeKey).parts()
	switch {
	case err != nil:
		b.refuse(err.Part, err.Value, err.Problem)
	case value != wantValue:
		b.refuse("thresholdValue", value, "must be written "+strconv.Quote(wantValue)+" under "+string(policy))
	case scopeKey != wantScope:
		b.refuse("scopeKey", "", "is not as "+string(policy)+" writes it")
	}
	b.literal(value)
	b.literal(string(policy))
	b.literal(scopeKey)
}

// Firing is the inverse of [Firing.Parts]: the policy, and what Value and
// ScopeKey say under it. Under OncePerSource that is the policy alone.
func (k Threshold) Firing() Firing {
	if k.Policy == OncePerSource {
		return Firing{Policy: OncePerSource}
	}
	return firingOf(k.Policy, k.Value, k.ScopeKey)
}

func (Threshold) parsed() {}

// parseThreshold takes the seven components that parseReminder found.
func parseThreshold(c []string) (Parsed, error) {
	t, err := components("threshold", c[6], 4)
	if err != nil {
		return nil, err
	}
	return Threshold{Setting: c[1], SourceType: c[2], Source: c[3], TriggerKey: c[4],
		Metric: t[0], Value: t[1], Policy: FiringPolicy(t[2]), ScopeKey: t[3]}, nil
}

// FiringPolicy says how often a threshold condition that is met fires. It is
// part of the key (Automation & Reminders, "Two trigger types"), so a setting
// that changes its policy makes new occasions. The zero value is refused.
type FiringPolicy string

// The policies. Each fires once for:
const (
	OncePerSource    FiringPolicy = "OncePerSource"    // the source and metric, for any threshold
	OncePerThreshold FiringPolicy = "OncePerThreshold" // each threshold value in each scope
	OncePerDay       FiringPolicy = "OncePerDay"       // each local date on which it is met
	FalseToTrue      FiringPolicy = "FalseToTrue"      // each rising edge: from not met to met
)

// The components of a policy that uses neither value nor scope.
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
	Value     string // the threshold in any spelling; see Decimal
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
			return "", thresholdError("rises", n, "must be 1 or more")
		}
		return "@" + n, nil
	}
	return "", thresholdError("firingPolicy", string(f.Policy), "is not one of OncePerSource, OncePerThreshold, OncePerDay, FalseToTrue")
}

// firingOf is the inverse of parts. For other input parts refuses the result or returns
// other components.
func firingOf(policy FiringPolicy, value, scopeKey string) Firing {
	f := Firing{Policy: policy, Value: value, Scope: scopeKey}
	switch policy {
	case OncePerDay:
		f.Scope, f.LocalDate, _ = strings.Cut(scopeKey, "@")
	case FalseToTrue:
		scope, n, _ := strings.Cut(scopeKey, "@")
		f.Scope = scope
		f.Rises, _ = strconv.ParseInt(n, 10, 64) // an invalid number is 0, which parts refuses or writes differently
	}
	return f
}

func thresholdError(part, value, problem string) *PartError {
	return &PartError{Kind: "threshold", Part: part, Problem: problem, Value: excerpt(value)}
}
