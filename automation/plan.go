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
	out := make([]plan, len(candidates))
	var refused []error
	for i, c := range candidates {
		p, field, err := s.plan(ctx, c)
		if err != nil {
			refused = append(refused, &CandidateError{Index: i, Type: cmp.Or(c.Type, c.AutomationType), Field: field, Err: err})
		}
		out[i] = p
	}
	return out, errors.Join(refused...)
}

// plan returns the field at fault beside an error that does not name it.
func (s *Scheduler) plan(ctx context.Context, c Candidate) (plan, string, error) {
	if field, err := c.checkTenancy(); err != nil {
		return plan{}, field, err
	}
	if strings.Contains(c.TriggerKey, rerunMark) {
		return plan{}, "TriggerKey", errors.New("holds " + rerunMark + ", which is kept for reruns by support")
	}
	switch {
	case c.AutomationType == TypeReportSubscription:
		return s.planReport(ctx, c)
	case c.Run != "":
		return plan{}, "Run", errors.New("is for reports")
	case c.AutomationType != "" && c.AutomationType != TypeReminder:
		return c.planHost()
	}
	if err := checkName(c.Type); err != nil {
		return plan{}, "Type", err
	}
	t, registered := s.registry.reminder(c.Type)
	if !registered {
		t = ReminderType{Name: c.Type}
	}
	if c.Recurrence != nil {
		return s.planRecurring(ctx, c, t)
	}
	if c.Threshold != nil {
		return s.planThreshold(ctx, c, t)
	}
	return s.planReminder(ctx, c, t)
}

// checkTenancy refuses what no part of the key looks at.
func (c Candidate) checkTenancy() (field string, err error) {
	for _, part := range []struct{ field, text string }{
		{"Scope", string(c.Scope)}, {"BusinessUnit", c.BusinessUnit},
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

// planHost is the row of a type that the host added.
func (c Candidate) planHost() (plan, string, error) {
	switch {
	case c.Type != "" && c.Type != c.AutomationType:
		return plan{}, "Type", errors.New("is for reminders; a host's type has its AutomationType only")
	case !c.TargetDate.IsZero() || c.DaysBefore != 0:
		return plan{}, "TargetDate", errors.New("is for reminders; a host's type has ScheduledOn")
	case c.Recurrence != nil:
		return plan{}, "Recurrence", errors.New("is for reminders; a handler's Outcome may ask for the next run")
	case c.Threshold != nil:
		return plan{}, "Threshold", errors.New("is for reminders; a host's type has ScheduledOn")
	case c.ScheduledOn.IsZero():
		return plan{}, "ScheduledOn", errors.New("is not set")
	}
	c.TriggerKey = cmp.Or(c.TriggerKey, defaultTriggerKey)
	key, err := keys.Host{Type: c.AutomationType, SourceType: c.Source.Type, Source: c.Source.ID, TriggerKey: c.TriggerKey}.Key()
	if err != nil {
		return plan{}, "", err
	}
	c.Type, c.Setting = c.AutomationType, cmp.Or(c.Setting, c.AutomationType)
	want := c.row(key, ScheduledRun, keys.Input{})
	want.ScheduledOn = storage.Time(c.ScheduledOn)
	return plan{want: want}, "", nil
}

// planReminder is the row of a date-based reminder.
func (s *Scheduler) planReminder(ctx context.Context, c Candidate, t ReminderType) (plan, string, error) {
	if !c.ScheduledOn.IsZero() {
		return plan{}, "ScheduledOn", errors.New("is for types that hosts add; a reminder has TargetDate")
	}
	if !c.TargetDate.Valid() {
		return plan{}, "TargetDate", errors.New("date " + c.TargetDate.String() + " does not exist")
	}
	c = c.reminder(t)
	date := c.TargetDate.String()
	key, err := keys.Reminder{
		Setting: c.Setting, SourceType: c.Source.Type, Source: c.Source.ID, TriggerKey: c.TriggerKey,
		TargetDate: date, OffsetDays: c.DaysBefore,
	}.Key()
	if err != nil {
		return plan{}, "", err
	}
	want := c.row(key, DateBased, keys.Input{TargetDate: date, OffsetDays: c.DaysBefore})
	want.TargetDate = date
	field, err := s.resolve(ctx, &want, c, t)
	if errors.Is(err, civil.ErrSkipped) {
		return plan{want: want, skipped: true}, "", nil
	}
	return plan{want: want, catchUp: cmp.Or(t.CatchUp, defaultCatchUp)}, field, err
}

// row fills in what does not depend on the moment.
func (c Candidate) row(key string, trigger TriggerType, in keys.Input) Schedule {
	in.BusinessUnit, in.SourceType, in.Source = c.BusinessUnit, c.Source.Type, c.Source.ID
	in.Setting, in.TriggerType, in.TriggerKey = c.Setting, string(trigger), c.TriggerKey
	in.Identity = c.Identity
	return Schedule{
		Record:         storage.Record{Scope: c.Scope, Key: key, Type: c.Type, Status: StatusPending, Lane: c.Lane},
		AutomationType: c.AutomationType, TriggerType: trigger, BusinessUnit: c.BusinessUnit, Setting: c.Setting,
		SourceType: c.Source.Type, Source: c.Source.ID, TriggerKey: c.TriggerKey, DaysBefore: c.DaysBefore,
		InputHash: in.Hash(),
	}
}
