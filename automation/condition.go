package automation

import (
	"time"

	"github.com/belfry-go/belfry/internal/civil"
	"github.com/belfry-go/belfry/keys"
)

// condition is the threshold of a plan, checked and complete. The rows that
// stand for it differ in the day or the number of rises in their keys only.
type condition struct {
	candidate Candidate // with everything that may be left out
	met       bool      // by its own reading
	loc       *time.Location
	state     string // key of its row of threshold_state
}

// conditionID is what all rows of a condition have in common.
type conditionID struct {
	scope  Scope
	state  string
	policy FiringPolicy
}

func (k *condition) id() conditionID {
	return conditionID{k.candidate.Scope, k.state, k.candidate.Threshold.Policy}
}

// today is the day of OncePerDay; other policies look at none.
func (k *condition) today(now time.Time) string {
	if k.loc == nil {
		return ""
	}
	return civil.DateOf(now, k.loc).String()
}

// identity is the key of one firing: of a day, or of a rise.
func (k *condition) identity(day string, rises int64) (keys.Threshold, error) {
	c, t := k.candidate, k.candidate.Threshold
	value, scope, err := keys.Firing{Policy: t.Policy, Value: t.Value, Scope: t.Scope, LocalDate: day, Rises: rises}.Parts()
	return keys.Threshold{
		Setting: c.Setting, SourceType: c.Source.Type, Source: c.Source.ID, TriggerKey: c.TriggerKey,
		Metric: t.Metric, Value: value, Policy: t.Policy, ScopeKey: scope,
	}, err
}

// row is the row of one firing. The InputHash looks at what the key looks at,
// and at the comparison where the key has a value to compare with: thresholds
// that share a key share their hash.
func (k *condition) row(day string, rises int64) (Schedule, error) {
	id, err := k.identity(day, rises)
	if err != nil {
		return Schedule{}, err
	}
	key, err := id.Key()
	if err != nil {
		return Schedule{}, err
	}
	in := keys.Input{Metric: id.Metric, Threshold: id.Value, Policy: id.Policy, Scope: id.ScopeKey}
	if id.Policy != OncePerSource {
		in.Comparison = string(k.candidate.Threshold.Comparison)
	}
	want := k.candidate.row(key, ThresholdCondition, in)
	if id.Policy == OncePerDay {
		want.LocalDate, want.TimeZone = day, k.candidate.Zone
	}
	return want, nil
}

// asksFor reports whether the condition stands for a row, under the day or the
// number in the row's own key: a row that was made before midnight is not
// another one behind it.
func (k *condition) asksFor(row *Schedule, key keys.Threshold) bool {
	own := key.Firing()
	same, err := k.row(own.LocalDate, own.Rises)
	return err == nil && same.Key == row.baseKey() && same.InputHash == row.InputHash
}

// conditionOf tells which condition a row stands for, and false if it stands
// for none.
func conditionOf(row *Schedule) (conditionID, keys.Threshold, bool) {
	if row.TriggerType != ThresholdCondition {
		return conditionID{}, keys.Threshold{}, false
	}
	parsed, _ := keys.Parse(row.baseKey()) // unreadable: it stands for nothing known
	key, ok := parsed.(keys.Threshold)
	if !ok {
		return conditionID{}, keys.Threshold{}, false
	}
	state, err := stateKey(key)
	return conditionID{row.Scope, state, key.Policy}, key, err == nil
}

// stateKey is the key of a condition's row of threshold_state: that of its
// firings without day and number. Policies share the row but for OncePerSource,
// whose thresholds are one condition.
func stateKey(k keys.Threshold) (string, error) {
	f := k.Firing()
	if f.Policy != OncePerSource {
		f.Policy = OncePerThreshold
	}
	value, scope, err := f.Parts()
	if err != nil {
		return "", err
	}
	return keys.Join(k.Setting, k.SourceType, k.Source, k.TriggerKey, k.Metric, value, scope)
}
