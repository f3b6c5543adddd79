package keys

import "strconv"

// Threshold is the identity of one firing of a threshold condition
// (Automation & Reminders, "Two trigger types"):
//
//	reminder:{setting}:{sourceType}:{source}:{triggerKey}:threshold:{metricKey}:{thresholdValue}:{firingPolicy}:{scopeKey}
//
// Value and ScopeKey follow from the policy and are best made by
// [Firing.Parts]; Key refuses a pair that Parts would not have made, so that
// 0.9 and 0.90 cannot become two reminders.
type Threshold struct {
	Setting    string       // the reminder setting, usually its GUID
	SourceType string       // the kind of aggregate, such as "class"
	Source     string       // its id
	TriggerKey string       // tells several triggers of one setting apart
	Metric     string       // what is measured, such as "occupancy"
	Value      string       // "any" under OncePerSource, else a canonical decimal
	Policy     FiringPolicy // how often a met condition fires
	ScopeKey   string       // what the policy makes of the provider's scope
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

// firing writes thresholdValue, firingPolicy and scopeKey if they are what
// the policy makes of them.
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
