package settings

import "github.com/belfry-go/belfry/automation"

// Cadence is the rule of recurring reminders: a cron expression or an RRULE, on
// the clocks of the business unit. The zero value is none.
type Cadence struct {
	// Cron has five fields: minute, hour, day of month, month, day of week.
	Cron string `json:"cron,omitempty"`
	// RRule is the value of an RRULE (RFC 5545); it needs a Start.
	RRule string `json:"rrule,omitempty"`
	// Start is the first local day, and End the last; zero means none.
	Start automation.Date `json:"start,omitzero"`
	End   automation.Date `json:"end,omitzero"`
}

func (f *faults) cadence(c Cadence) {
	f.text("Cadence.Cron", c.Cron, maxText)
	f.text("Cadence.RRule", c.RRule, maxText)
	switch {
	case c.Cron != "" && c.RRule != "":
		f.add("Cadence", "has both Cron and RRule")
	case c.Cron == "" && c.RRule == "" && c != Cadence{}:
		f.add("Cadence", "has neither Cron nor RRule")
	case c.RRule != "" && c.Start.IsZero():
		f.add("Cadence.Start", "is not set, and an RRule counts from it")
	}
	if !c.Start.IsZero() && !c.Start.Valid() {
		f.add("Cadence.Start", "%s does not exist", c.Start)
	}
	switch {
	case c.End.IsZero():
	case !c.End.Valid():
		f.add("Cadence.End", "%s does not exist", c.End)
	case c.End.Before(c.Start):
		f.add("Cadence.End", "%s is before Start", c.End)
	}
}
