package check

import "github.com/belfry-go/belfry/internal/recur"

// Cadence checks the field of that name as far as its parts alone tell; whether
// anything happens by it, [recur.Parse] says.
func (f *Faults) Cadence(c recur.Spec) {
	switch {
	case c.Cron != "" && c.RRule != "":
		f.Add("Cadence", "has both Cron and RRule")
	case c.Cron == "" && c.RRule == "":
		f.Add("Cadence", "has neither Cron nor RRule")
	case c.RRule != "" && c.Start.IsZero():
		f.Add("Cadence.Start", "is not set, and an RRULE counts from it")
	}
	if !c.Start.IsZero() && !c.Start.Valid() {
		f.Add("Cadence.Start", "%s does not exist", c.Start)
	}
	switch {
	case c.End.IsZero():
	case !c.End.Valid():
		f.Add("Cadence.End", "%s does not exist", c.End)
	case c.End.Before(c.Start):
		f.Add("Cadence.End", "%s is before Start", c.End)
	}
}
