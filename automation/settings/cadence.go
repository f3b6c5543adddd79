package settings

import (
	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/internal/civil"
	"github.com/belfry-go/belfry/internal/recur"
)

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

// cadence also tries the rule out, unless something simpler is wrong with it.
func (f *faults) cadence(c Cadence, sendAt string) {
	if c == (Cadence{}) {
		return
	}
	known := len(f.Faults)
	f.text("Cadence.Cron", c.Cron, maxText)
	f.text("Cadence.RRule", c.RRule, maxText)
	at, err := civil.ParseTimeOfDay(sendAt)
	spec := recur.Spec{Cron: c.Cron, RRule: c.RRule, Start: c.Start, End: c.End, At: at}
	f.Cadence(spec)
	if len(f.Faults) > known || sendAt != "" && err != nil {
		return
	}
	_, err = recur.Parse(spec)
	f.Because("Cadence", err)
}
