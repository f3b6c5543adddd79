package settings

import "github.com/belfry-go/belfry/automation"

// Target is what the host knows about a source: a date that reminders count
// towards, what it has measured, or both.
type Target struct {
	// Date is the civil date of the event itself; zero: there is none.
	Date automation.Date
	// Readings are what was measured, whether or not a threshold is met.
	Readings []Reading
	// TriggerKey tells several dates of one source apart; default "default".
	TriggerKey string
	// BusinessUnit is the unit of the source; it may be empty.
	BusinessUnit string
	// Identity is automation.Candidate's.
	Identity map[string]string
}

// Reading is what the host measured of a source, for the thresholds on that
// metric.
type Reading struct {
	Metric string
	// Value is a decimal number.
	Value string
	// Scope is what of the source was measured; empty means all of it.
	Scope string
}

// Candidates are the reminders that r asks for about a target: one for each
// offset from its date, one for each threshold on what was measured, and the
// series of the cadence. A setting that is off, or of another business unit,
// asks for none.
func (r ReminderSetting) Candidates(t Target) []automation.Candidate {
	if !r.Active || r.BusinessUnit != "" && r.BusinessUnit != t.BusinessUnit {
		return nil
	}
	base := automation.Candidate{
		Scope: r.Scope, Type: r.Type, Setting: r.ID, TriggerKey: t.TriggerKey, BusinessUnit: t.BusinessUnit, Identity: t.Identity,
	}
	out := r.onDates(base, t.Date)
	out = append(out, r.onThresholds(base, t.Readings)...)
	return append(out, r.onCadence(base)...)
}

func (r ReminderSetting) onDates(c automation.Candidate, on automation.Date) (out []automation.Candidate) {
	if on.IsZero() {
		return nil
	}
	c.TargetDate, c.SendAt = on, r.SendAt
	for _, c.DaysBefore = range r.Offsets {
		out = append(out, c)
	}
	return out
}

func (r ReminderSetting) onThresholds(c automation.Candidate, readings []Reading) (out []automation.Candidate) {
	for _, t := range r.Thresholds {
		for _, is := range readings {
			if is.Metric != t.Metric {
				continue
			}
			c.Threshold = &automation.Threshold{
				Metric: t.Metric, Comparison: t.Comparison, Value: t.Value, Policy: t.Policy, Reading: is.Value, Scope: is.Scope,
			}
			out = append(out, c)
		}
	}
	return out
}

func (r ReminderSetting) onCadence(c automation.Candidate) []automation.Candidate {
	if r.Cadence == (Cadence{}) {
		return nil
	}
	rule := automation.Recurrence(r.Cadence)
	c.Recurrence = &rule
	if rule.RRule != "" {
		c.SendAt = r.SendAt // a cron expression has its own times
	}
	return []automation.Candidate{c}
}
