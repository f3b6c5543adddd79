package automation

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/belfry-go/belfry/internal/civil"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage"
)

// defaultTriggerKey is that of a candidate that names none.
const defaultTriggerKey = "default"

// plan is a checked candidate: the row that it asks for.
type plan struct {
	want    Schedule
	catchUp time.Duration // zero: however long ago
	skipped bool          // its local time does not exist, and the policy is GapSkip
	series  *seriesPlan   // of a recurring candidate
	ended   bool          // the series has no further occurrence
	found   *Schedule     // the occurrence as it is and stays; nothing is written
	moves   bool          // only foreseen: the series would be written, and
	ends    *Schedule     // this occurrence of it would end
	shadow  bool          // the old scheduler does the series' runs

	condition *condition // of a threshold; the row is complete once measured
	unmet     bool       // the condition is not met, so no row is wanted
	version   int64      // of the source that was measured
}

// passed reports whether the moment lies too far back for a new row.
func (p plan) passed(now time.Time) bool {
	return p.catchUp > 0 && !p.skipped && p.want.ScheduledOn.Before(now.Add(-p.catchUp))
}

// plans checks candidates and computes their rows. It reads no row and writes
// nothing; the error joins a *CandidateError for each candidate refused.
func (s *Scheduler) plans(ctx context.Context, candidates []Candidate) ([]plan, error) {
	out := sparePlans.take(len(candidates))
	var refused []error
	for i := range candidates {
		c := &candidates[i]
		if field, err := s.plan(ctx, c, &out[i]); err != nil {
			refused = append(refused, &CandidateError{Index: i, Type: cmp.Or(c.Type, c.AutomationType), Field: field, Err: err})
		}
	}
	return out, errors.Join(refused...)
}

// plan fills in p, a large struct of which there are many. It returns the field at
// fault beside an error that does not name it.
func (s *Scheduler) plan(ctx context.Context, c *Candidate, p *plan) (field string, err error) {
	if field, err := checkTenancy(c.Scope, c.BusinessUnit); err != nil {
		return field, err
	}
	if strings.Contains(c.TriggerKey, rerunMark) {
		return "TriggerKey", errors.New("holds " + rerunMark + ", which is kept for reruns by support")
	}
	switch {
	case c.AutomationType == TypeReportSubscription:
		*p, field, err = s.planReport(ctx, *c)
		return field, err
	case c.Run != "":
		return "Run", errors.New("is for reports")
	case c.AutomationType != "" && c.AutomationType != TypeReminder:
		return p.host(*c)
	}
	if err := checkName(c.Type); err != nil {
		return "Type", err
	}
	t, registered := s.registry.reminder(c.Type)
	if !registered {
		t = ReminderType{Name: c.Type}
	}
	switch {
	case c.Recurrence != nil:
		*p, field, err = s.planRecurring(ctx, *c, t)
	case c.Threshold != nil:
		*p, field, err = s.planThreshold(ctx, *c, t)
	default:
		return s.planReminder(ctx, *c, t, p)
	}
	return field, err
}

// checkTenancy refuses what no part of the key looks at.
func checkTenancy(scope Scope, unit string) (field string, err error) {
	for _, part := range []struct{ field, text string }{
		{"Scope", string(scope)}, {"BusinessUnit", unit},
	} {
		if part.text == "" {
			continue
		}
		if len(part.text) > keys.MaxPartLen {
			return part.field, errors.New("is too long")
		}
		if _, err := keys.Join(part.text); err != nil {
			return part.field, err
		}
	}
	return "", nil
}

// host plans the row of a type that the host added.
func (p *plan) host(c Candidate) (field string, err error) {
	switch {
	case c.Type != "" && c.Type != c.AutomationType:
		return "Type", errors.New("is for reminders; a host's type has its AutomationType only")
	case !c.TargetDate.IsZero() || c.DaysBefore != 0:
		return "TargetDate", errors.New("is for reminders; a host's type has ScheduledOn")
	case c.Recurrence != nil:
		return "Recurrence", errors.New("is for reminders; a handler's Outcome may ask for the next run")
	case c.Threshold != nil:
		return "Threshold", errors.New("is for reminders; a host's type has ScheduledOn")
	case c.ScheduledOn.IsZero():
		return "ScheduledOn", errors.New("is not set")
	}
	c.TriggerKey = cmp.Or(c.TriggerKey, defaultTriggerKey)
	key, err := keys.Host{Type: c.AutomationType, SourceType: c.Source.Type, Source: c.Source.ID, TriggerKey: c.TriggerKey}.Key()
	if err != nil {
		return "", err
	}
	c.Type, c.Setting = c.AutomationType, cmp.Or(c.Setting, c.AutomationType)
	c.fill(&p.want, key, ScheduledRun, keys.Input{})
	p.want.ScheduledOn = storage.Time(c.ScheduledOn)
	return "", nil
}

// planReminder plans the row of a date-based reminder.
func (s *Scheduler) planReminder(ctx context.Context, c Candidate, t ReminderType, p *plan) (field string, err error) {
	if !c.ScheduledOn.IsZero() {
		return "ScheduledOn", errors.New("is for types that hosts add; a reminder has TargetDate")
	}
	if !c.TargetDate.Valid() {
		return "TargetDate", errors.New("date " + c.TargetDate.String() + " does not exist")
	}
	c = c.reminder(t)
	date := c.TargetDate.String()
	key, err := keys.Reminder{
		Setting: c.Setting, SourceType: c.Source.Type, Source: c.Source.ID, TriggerKey: c.TriggerKey,
		TargetDate: date, OffsetDays: c.DaysBefore,
	}.Key()
	if err != nil {
		return "", err
	}
	c.fill(&p.want, key, DateBased, keys.Input{TargetDate: date, OffsetDays: c.DaysBefore})
	p.want.TargetDate = date
	field, err = s.resolve(ctx, &p.want, c, t)
	if errors.Is(err, civil.ErrSkipped) {
		p.skipped = true
		return "", nil
	}
	p.catchUp = cmp.Or(t.CatchUp, defaultCatchUp)
	return field, err
}

// row is the row that the candidate asks for, without its moment.
func (c *Candidate) row(key string, trigger TriggerType, in keys.Input) Schedule {
	var r Schedule
	c.fill(&r, key, trigger, in)
	return r
}

// fill fills in what does not depend on the moment.
func (c *Candidate) fill(r *Schedule, key string, trigger TriggerType, in keys.Input) {
	in.BusinessUnit, in.SourceType, in.Source = c.BusinessUnit, c.Source.Type, c.Source.ID
	in.Setting, in.TriggerType, in.TriggerKey = c.Setting, string(trigger), c.TriggerKey
	in.Identity = c.Identity
	r.Scope, r.Key, r.Type, r.Status, r.Lane = c.Scope, key, c.Type, StatusPending, c.Lane
	r.AutomationType, r.TriggerType, r.BusinessUnit, r.Setting = c.AutomationType, trigger, c.BusinessUnit, c.Setting
	r.SourceType, r.Source, r.TriggerKey, r.DaysBefore = c.Source.Type, c.Source.ID, c.TriggerKey, c.DaysBefore
	r.InputHash = in.Hash()
}
