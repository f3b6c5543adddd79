package settings

import "github.com/belfry-go/belfry/automation"

// Target is what the host knows about a source: a date that reminders count
// towards.
type Target struct {
	// Date is the civil date of the event itself.
	Date automation.Date
	// TriggerKey tells several dates of one source apart; default "default".
	TriggerKey string
	// BusinessUnit is the unit of the source; it may be empty.
	BusinessUnit string
	// Identity is automation.Candidate's.
	Identity map[string]string
}

// Candidates are the reminders that r asks for about a date: one for each offset.
// A setting that is off, or of another business unit, asks for none.
func (r ReminderSetting) Candidates(t Target) []automation.Candidate {
	if !r.Active || r.BusinessUnit != "" && r.BusinessUnit != t.BusinessUnit {
		return nil
	}
	out := make([]automation.Candidate, len(r.Offsets))
	for i, days := range r.Offsets {
		out[i] = automation.Candidate{
			Scope: r.Scope, Type: r.Type, Setting: r.ID, TriggerKey: t.TriggerKey, BusinessUnit: t.BusinessUnit,
			TargetDate: t.Date, DaysBefore: days, SendAt: r.SendAt, Identity: t.Identity,
		}
	}
	return out
}
