package automation

import (
	"cmp"
	"context"
	"errors"

	"github.com/belfry-go/belfry/internal/civil"
	"github.com/belfry-go/belfry/internal/recur"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage"
)

// seriesPlan is the series that a candidate asks for.
type seriesPlan struct {
	want series
	line recur.Timeline
}

// planRecurring is the series of a recurring reminder. Which row it asks for is
// known when the stored series has been read; until then the plan names the
// first occurrence from now on.
func (s *Scheduler) planRecurring(ctx context.Context, c Candidate, t ReminderType) (plan, string, error) {
	if field, err := c.checkRecurring(); err != nil {
		return plan{}, field, err
	}
	c.AutomationType = TypeReminder
	c.Setting, c.TriggerKey = cmp.Or(c.Setting, c.Type), cmp.Or(c.TriggerKey, defaultTriggerKey)
	if t.Urgent && c.Lane == storage.LaneNormal {
		c.Lane = storage.LaneUrgent
	}
	return s.planSeries(ctx, c, t, Recurring)
}

// planSeries is the series of a checked candidate.
func (s *Scheduler) planSeries(ctx context.Context, c Candidate, t ReminderType, trigger TriggerType) (plan, string, error) {
	row := c.row("", trigger, keys.Input{})
	want := series{
		Record:         storage.Record{Scope: c.Scope, Type: c.Type, Lane: c.Lane},
		AutomationType: row.AutomationType, Setting: row.Setting, SourceType: row.SourceType, Source: row.Source,
		TriggerKey: row.TriggerKey, BusinessUnit: row.BusinessUnit, InputHash: row.InputHash,
	}
	line, field, err := s.timeline(ctx, &want, c, t)
	if err != nil {
		return plan{}, field, err
	}
	now := s.now()
	if _, err := want.key(now.Truncate(1e9)); err != nil { // every part of it is checked there
		return plan{}, "", err
	}
	want.Key = seriesKey(want.AutomationType, want.Setting, c.Source, want.TriggerKey)
	p := plan{want: row, series: &seriesPlan{want, line}}
	if first, ok := line.After(now); ok {
		p.want.ScheduledOn = first.On
		p.want.Key, err = want.key(first.On)
	}
	return p, "Recurrence", err
}

func (c Candidate) checkRecurring() (field string, err error) {
	switch {
	case c.Threshold != nil:
		return "Threshold", errors.New("goes with no Recurrence: a reminder has one of them")
	case !c.ScheduledOn.IsZero():
		return "ScheduledOn", errors.New("is for types that hosts add; a recurring reminder has its Recurrence")
	case !c.TargetDate.IsZero() || c.DaysBefore != 0:
		return "TargetDate", errors.New("goes with no Recurrence: a reminder has one of them")
	case c.Recurrence.Cron != "" && c.SendAt != "":
		return "SendAt", errors.New("goes with no Cron, which says itself when")
	}
	return "", nil
}

// timeline checks the cadence and puts it into want, in its canonical spelling.
func (s *Scheduler) timeline(ctx context.Context, want *series, c Candidate, t ReminderType) (recur.Timeline, string, error) {
	spec := recur.Spec{Cron: c.Recurrence.Cron, RRule: c.Recurrence.RRule, Start: c.Recurrence.Start, End: c.Recurrence.End}
	if spec.RRule != "" {
		sendAt := c.SendAt
		if sendAt == "" && recur.NamesTime(spec.RRule) {
			sendAt = "00:00"
		}
		var err error
		if spec.At, err = timeOfDay(cmp.Or(sendAt, t.SendAt)); err != nil {
			return recur.Timeline{}, "SendAt", err
		}
		want.StartTime = spec.At.String()
	}
	cadence, err := recur.Parse(spec)
	if err != nil {
		return recur.Timeline{}, "Recurrence", err
	}
	zone, loc, err := s.zone(ctx, c, t)
	if err != nil {
		return recur.Timeline{}, "Zone", err
	}
	policy := civil.Policy{Gap: cmp.Or(c.Gap, t.Gap, GapForward), Overlap: cmp.Or(c.Overlap, t.Overlap, OverlapFirst)}
	if err := policy.Validate(); err != nil {
		return recur.Timeline{}, "Gap, Overlap", err
	}
	spec = cadence.Spec()
	want.Cron, want.RRule = spec.Cron, spec.RRule
	want.StartDate, want.EndDate = dateText(spec.Start), dateText(spec.End)
	want.TimeZone, want.GapPolicy, want.OverlapPolicy = zone, policy.Gap, policy.Overlap
	return recur.Timeline{Cadence: cadence, Zone: loc, Policy: policy}, "", nil
}

func dateText(d Date) string {
	if d.IsZero() {
		return ""
	}
	return d.String()
}

// asksFor reports whether the plan asks for a row, and for what it stands for. An
// occurrence is asked for with its series, whatever the cadence says by now.
func (p plan) asksFor(row *Schedule) bool {
	if p.series != nil {
		return p.series.want.Key == row.baseSeriesKey() && p.want.InputHash == row.InputHash
	}
	return p.want.Key == row.baseKey() && p.want.InputHash == row.InputHash
}

// series are the keys of those that an event asks for, and whose setting is on.
func (p eventPlan) series() map[string]bool {
	out := map[string]bool{}
	for _, plan := range p.plans {
		if plan.series != nil && !p.off[plan.want.Setting] {
			out[plan.series.want.Key] = true
		}
	}
	return out
}
