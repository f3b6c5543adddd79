package automation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/belfry-go/belfry/automation/dst"
	"github.com/belfry-go/belfry/internal/civil"
	"github.com/belfry-go/belfry/keys"
)

// defaultCatchUp is how far in the past a new reminder may lie.
const defaultCatchUp = 24 * time.Hour

// resolve computes when a date-based row is due: so many days before its date,
// at a time of day in a zone, and from there to UTC (Automation & Reminders,
// "Two trigger types"). It returns the field at fault beside an error.
func (s planner) resolve(ctx context.Context, want *scheduleRow, c Candidate, t ReminderType) (string, error) {
	local := c.TargetDate.AddDays(-c.DaysBefore)
	if local.IsZero() {
		return "DaysBefore", fmt.Errorf("%d days before %s is outside the years 1 to 9999", c.DaysBefore, c.TargetDate)
	}
	if t.BusinessDay != nil {
		shifted, err := rememberedOf(ctx).day(ctx, t, c, local)
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
	policy := civil.Policy{Gap: cmp.Or(c.Gap, t.Gap, dst.GapForward), Overlap: cmp.Or(c.Overlap, t.Overlap, dst.OverlapFirst)}
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
		return civil.TimeOfDay{}, errors.New("is not set: set it in the candidate, or in its type, which has to be registered in this process")
	}
	return civil.ParseTimeOfDay(text)
}

// zone is the candidate's, else the business unit's, else the type's.
func (s *core) zone(ctx context.Context, c Candidate, t ReminderType) (string, *time.Location, error) {
	name := c.Zone
	if name == "" && s.opts.Zone != nil {
		var err error
		if name, err = rememberedOf(ctx).zone(ctx, s.opts.Zone, c); err != nil {
			return "", nil, fmt.Errorf("of the business unit: %w", err)
		}
	}
	if name = cmp.Or(name, t.Zone); name == "" {
		return "", nil, errors.New("is not set: set it in the candidate, in its business unit, or in its type, which has to be registered in this process")
	}
	loc, err := civil.LoadZone(name)
	return name, loc, err
}

// Occurrence is a moment at which a candidate happens: one of many for a
// [Recurrence], the only one otherwise.
type Occurrence struct {
	Key        string // of its row
	LocalDate  Date   // what was asked for, on the clocks of Zone
	LocalTime  string // 09:00, or 09:00:30
	Zone       string
	On         time.Time      // the instant, in UTC
	Resolution dst.Resolution // how the local time became On
}

// occurrence is what a row of a series stands for.
func (r *scheduleRow) occurrence(date Date, zone *time.Location) (*Occurrence, error) {
	at, err := civil.ParseTimeOfDay(r.SendAt)
	if err != nil {
		return nil, err
	}
	on := r.ScheduledOn
	if _, occurrence, ok := seriesOf(r.Key); ok {
		on = occurrence // a rerun is scheduled later
	}
	_, how, err := civil.Resolve(date, at, zone, civil.Policy{Gap: r.GapPolicy, Overlap: r.OverlapPolicy})
	return &Occurrence{
		Key: r.Key, LocalDate: date, LocalTime: r.SendAt, Zone: r.TimeZone, On: on, Resolution: how,
	}, err
}

// maxPreview bounds a preview.
const maxPreview = 1000

// Preview lists the next n occurrences of a candidate from now on, at most 1000,
// or fewer if it ends: for one that does not recur its only moment, even if that
// has passed, or none if its local time does not exist and the policy is
// GapSkip. It reads no row and writes nothing; a [*CandidateError] says why the
// candidate would be refused.
func (s *Scheduler) Preview(ctx context.Context, c Candidate, n int) ([]Occurrence, error) {
	if n < 1 || n > maxPreview {
		return nil, fmt.Errorf("automation: Preview: %d occurrences; 1 to %d can be asked for", n, maxPreview)
	}
	plans, err := s.planner().plans(within(ctx, s.tx), []Candidate{c})
	if err != nil {
		return nil, err
	}
	p := plans[0]
	if p.series != nil {
		return p.series.preview(s.core, n)
	}
	if p.skipped {
		return nil, nil
	}
	row := p.want
	one := Occurrence{Key: row.Key, Zone: row.TimeZone, LocalTime: row.SendAt, On: row.ScheduledOn, Resolution: dst.ResolvedExact}
	switch row.TriggerType {
	case InstantBased:
		one.LocalDate, err = civil.ParseDate(row.LocalDate)
		return []Occurrence{one}, err
	case DateBased:
		if one.LocalDate, one.Resolution, err = resolution(&row); err != nil {
			return nil, err
		}
	}
	return []Occurrence{one}, nil
}

// resolution says how the local time of a date-based row became its moment.
func resolution(r *scheduleRow) (Date, dst.Resolution, error) {
	date, err := civil.ParseDate(r.LocalDate)
	if err != nil {
		return Date{}, "", err
	}
	zone, err := civil.LoadZone(r.TimeZone)
	if err != nil {
		return Date{}, "", err
	}
	o, err := r.occurrence(date, zone)
	if err != nil {
		return Date{}, "", err
	}
	return date, o.Resolution, nil
}

func (p *seriesPlan) preview(s *core, n int) ([]Occurrence, error) {
	var out []Occurrence
	for _, o := range p.line.Preview(s.now(), n) {
		key, err := p.want.key(o.On)
		if err != nil {
			return nil, err
		}
		out = append(out, Occurrence{
			Key: key, LocalDate: localDate(o), LocalTime: localTime(o).String(), Zone: p.want.TimeZone,
			On: o.On, Resolution: o.Resolution,
		})
	}
	return out, nil
}

// lastAsked is the last moment at which anybody can ask for the row's key; not
// known where that may happen at any time.
func (m keeping) lastAsked(r *scheduleRow) (time.Time, bool) {
	switch key, _ := keys.Parse(r.Key); k := key.(type) {
	case keys.Reminder:
		return m.lastOfDates(r)
	case keys.Instant:
		return k.Start.Add(m.catchUp - k.Before), true
	case keys.Recurring:
		return k.Occurrence.Add(max(m.catchUp, seriesMemory)), true
	case keys.ReportRun:
		return r.ScheduledOn.Add(max(m.catchUp, seriesMemory)), true
	case keys.ManualReportRun:
		return r.EndedOn.Add(m.catchUp), true
	case keys.HostRun:
		if k.Run != "" {
			return r.EndedOn.Add(m.catchUp), true
		}
		return k.On.Add(max(m.catchUp, seriesMemory)), true
	case keys.Threshold:
		if _, day, ok := strings.Cut(k.ScopeKey, "@"); ok && k.Policy == keys.OncePerDay {
			return m.lastOf(0, day)
		}
	}
	return r.EndedOn.Add(m.ForgetAfter), m.ForgetAfter > 0
}

// lastOfDates is that of a date-based row: for the day that its key stands for,
// and the one that a calendar made of it.
func (m keeping) lastOfDates(r *scheduleRow) (time.Time, bool) {
	target, known := m.lastOf(r.DaysBefore, r.TargetDate)
	local, alsoKnown := m.lastOf(0, r.LocalDate)
	if local.After(target) {
		target = local
	}
	if m.shifted {
		target = target.Add(businessDays)
	}
	return target, known && alsoKnown
}

// lastOf is the last moment for a date, so many days before another.
func (m keeping) lastOf(daysBefore int, date string) (time.Time, bool) {
	parsed, err := civil.ParseDate(date)
	if err != nil {
		return time.Time{}, false
	}
	day := parsed.AddDays(-daysBefore)
	return time.Date(day.Year, day.Month, day.Day, 0, 0, 0, 0, time.UTC).Add(anywhere + m.catchUp), !day.IsZero()
}

// remembered are the zones and business days that a batch of sources or rows has
// asked for: many of them are of one business unit. It is for one goroutine; nil
// remembers nothing.
type remembered struct {
	zones map[unit]string
	days  map[unitDay]Date
}

type unit struct {
	scope Scope
	id    string
}

type unitDay struct {
	unit
	kind string // the reminder type
	day  Date
}

type rememberedKey struct{}

// remembering asks for each zone and business day once. What is asked inside a
// transaction remembers its own.
func remembering(ctx context.Context) context.Context {
	return context.WithValue(ctx, rememberedKey{}, &remembered{map[unit]string{}, map[unitDay]Date{}})
}

func rememberedOf(ctx context.Context) *remembered {
	r, _ := ctx.Value(rememberedKey{}).(*remembered)
	return r
}

func (r *remembered) zone(ctx context.Context, ask func(context.Context, Scope, string) (string, error), c Candidate) (string, error) {
	if r == nil {
		return ask(ctx, c.Scope, c.BusinessUnit)
	}
	of := unit{c.Scope, c.BusinessUnit}
	name, known := r.zones[of]
	if known {
		return name, nil
	}
	name, err := ask(ctx, c.Scope, c.BusinessUnit)
	if err == nil {
		r.zones[of] = name
	}
	return name, err
}

func (r *remembered) day(ctx context.Context, t ReminderType, c Candidate, d Date) (Date, error) {
	if r == nil {
		return t.BusinessDay(ctx, c.Scope, c.BusinessUnit, d)
	}
	of := unitDay{unit{c.Scope, c.BusinessUnit}, t.Name, d}
	moved, known := r.days[of]
	if known {
		return moved, nil
	}
	moved, err := t.BusinessDay(ctx, c.Scope, c.BusinessUnit, d)
	if err == nil {
		r.days[of] = moved
	}
	return moved, err
}
