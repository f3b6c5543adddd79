package automation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/belfry-go/belfry/internal/civil"
)

// defaultCatchUp is how far in the past a new reminder may lie.
const defaultCatchUp = 24 * time.Hour

// resolve computes when a date-based row is due: so many days before its date,
// at a time of day in a zone, and from there to UTC (Automation & Reminders,
// "Two trigger types"). It returns the field at fault beside an error.
func (s *Scheduler) resolve(ctx context.Context, want *Schedule, c Candidate, t ReminderType) (string, error) {
	local := c.TargetDate.AddDays(-c.DaysBefore)
	if local.IsZero() {
		return "DaysBefore", fmt.Errorf("%d days before %s is outside the years 1 to 9999", c.DaysBefore, c.TargetDate)
	}
	if t.BusinessDay != nil {
		shifted, err := t.BusinessDay(ctx, c.Scope, c.BusinessUnit, local)
		if err != nil {
			return "TargetDate", fmt.Errorf("business day for %s: %w", local, err)
		}
		local = shifted
	}
	sendAt, err := timeOfDay(cmp.Or(c.SendAt, t.SendAt))
	if err != nil {
		return "SendAt", err
	}
	zone, loc, err := s.zone(ctx, c, t)
	if err != nil {
		return "Zone", err
	}
	policy := civil.Policy{Gap: cmp.Or(c.Gap, t.Gap, GapForward), Overlap: cmp.Or(c.Overlap, t.Overlap, OverlapFirst)}
	if err := policy.Validate(); err != nil {
		return "Gap, Overlap", err
	}
	want.LocalDate, want.SendAt, want.TimeZone = local.String(), sendAt.String(), zone
	want.GapPolicy, want.OverlapPolicy = policy.Gap, policy.Overlap
	want.ScheduledOn, _, err = civil.Resolve(local, sendAt, loc, policy)
	return "TargetDate", err
}

func timeOfDay(text string) (civil.TimeOfDay, error) {
	if text == "" {
		return civil.TimeOfDay{}, errors.New("is not set, neither here nor by the type")
	}
	return civil.ParseTimeOfDay(text)
}

// zone is the candidate's, else the business unit's, else the type's.
func (s *Scheduler) zone(ctx context.Context, c Candidate, t ReminderType) (string, *time.Location, error) {
	name := c.Zone
	if name == "" && s.opts.Zone != nil {
		var err error
		if name, err = s.opts.Zone(ctx, c.Scope, c.BusinessUnit); err != nil {
			return "", nil, fmt.Errorf("of the business unit: %w", err)
		}
	}
	if name = cmp.Or(name, t.Zone); name == "" {
		return "", nil, errors.New("is not set, neither here nor by the business unit nor by the type")
	}
	loc, err := civil.LoadZone(name)
	return name, loc, err
}
