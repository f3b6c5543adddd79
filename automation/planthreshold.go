package automation

import (
	"cmp"
	"context"
	"errors"
	"math"

	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage"
)

// planThreshold checks a candidate with a threshold. Which row it asks for is
// known once the reading is compared with those before; see measure.
func (s *Scheduler) planThreshold(ctx context.Context, c Candidate, t ReminderType) (plan, string, error) {
	if field := c.dated(); field != "" {
		return plan{}, field, errors.New("is not for candidates with a Threshold, which are due at once")
	}
	threshold, field, err := c.Threshold.complete()
	if err != nil {
		return plan{}, "Threshold." + field, err
	}
	c = c.reminder(t)
	c.Threshold = &threshold
	k := condition{candidate: c, met: threshold.Comparison.met(threshold.Reading, threshold.Value)}
	if threshold.Policy == OncePerDay {
		if k.candidate.Zone, k.loc, err = s.zone(ctx, c, t); err != nil {
			return plan{}, "Zone", err
		}
	}
	// The longest day and number show that no firing can be refused later.
	longest, err := k.row("9999-12-31", math.MaxInt64)
	if err != nil {
		return plan{}, "", err
	}
	id, _, _ := conditionOf(&longest)
	k.state = id.state
	return plan{want: longest, condition: &k, unmet: !k.met}, "", nil
}

// reminder fills in what a candidate of a reminder may leave out.
func (c Candidate) reminder(t ReminderType) Candidate {
	c.AutomationType = TypeReminder
	c.Setting, c.TriggerKey = cmp.Or(c.Setting, c.Type), cmp.Or(c.TriggerKey, defaultTriggerKey)
	if t.Urgent && c.Lane == storage.LaneNormal {
		c.Lane = storage.LaneUrgent
	}
	return c
}

// dated names the first field that says when, if there is one.
func (c Candidate) dated() string {
	switch {
	case !c.TargetDate.IsZero():
		return "TargetDate"
	case c.DaysBefore != 0:
		return "DaysBefore"
	case c.SendAt != "":
		return "SendAt"
	case !c.ScheduledOn.IsZero():
		return "ScheduledOn"
	}
	return ""
}

// complete fills in the defaults and the one spelling of the numbers. It
// returns the field at fault beside an error.
func (t Threshold) complete() (out Threshold, field string, err error) {
	t.Comparison = cmp.Or(t.Comparison, AtLeast)
	t.Policy, t.Scope = cmp.Or(t.Policy, OncePerThreshold), cmp.Or(t.Scope, defaultThresholdScope)
	if err = t.Comparison.check(); err != nil {
		return t, "Comparison", err
	}
	if t.Value, err = keys.Decimal(t.Value); err != nil {
		return t, "Value", err
	}
	if t.Reading, err = keys.Decimal(t.Reading); err != nil {
		return t, "Reading", err
	}
	return t, "", nil
}
