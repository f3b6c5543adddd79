package automation

import (
	"context"
	"errors"
	"time"

	"github.com/belfry-go/belfry/internal/civil"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage"
)

// planReport is the series of a report's runs, or one run that a person asked
// for (Report Subscription, "Use AutomationScheduler").
func (s *Scheduler) planReport(ctx context.Context, c Candidate) (plan, string, error) {
	if field, err := c.checkReport(); err != nil {
		return plan{}, field, err
	}
	c.Setting, c.TriggerKey = TypeReportSubscription, defaultTriggerKey
	if c.Run == "" {
		return s.planSeries(ctx, c, ReminderType{Name: c.Type}, ScheduledRun)
	}
	return s.planManual(ctx, c)
}

func (c Candidate) checkReport() (field string, err error) {
	if err := checkName(c.Type); err != nil {
		return "Type", err
	}
	switch {
	case c.Source.Type != TypeReportSubscription:
		return "Source", errors.New("is not of the type " + TypeReportSubscription)
	case c.Setting != "" && c.Setting != TypeReportSubscription:
		return "Setting", errors.New("is none of a report's")
	case c.TriggerKey != "" && c.TriggerKey != defaultTriggerKey:
		return "TriggerKey", errors.New("is none of a report's: its key has none")
	case len(c.Identity) > 0:
		return "Identity", errors.New("is none of a report's: a run stands for its subscription")
	case (c.Run == "") == (c.Recurrence == nil):
		return "Recurrence", errors.New("or Run is required, and only one of them")
	}
	if _, err := (keys.ReportRun{Subscription: c.Source.ID, On: time.Unix(0, 0)}).Key(); err != nil {
		return "Source", err
	}
	if c.Recurrence == nil {
		c.Recurrence = &Recurrence{} // what is refused beside one is refused beside a Run
	}
	return c.checkRecurring()
}

// planManual is the row of a run that is due at once.
func (s *Scheduler) planManual(ctx context.Context, c Candidate) (plan, string, error) {
	key, err := keys.ManualReportRun{Subscription: c.Source.ID, Run: c.Run}.Key()
	if err != nil {
		return plan{}, "", err
	}
	zone, loc, err := s.zone(ctx, c, ReminderType{})
	if err != nil {
		return plan{}, "Zone", err
	}
	want := c.row(key, ManualRun, keys.Input{})
	want.ScheduledOn = storage.Time(s.now())
	local := want.ScheduledOn.In(loc)
	want.LocalDate, want.TimeZone = civil.DateOf(want.ScheduledOn, loc).String(), zone
	want.SendAt = civil.TimeOfDay{Hour: local.Hour(), Minute: local.Minute(), Second: local.Second()}.String()
	return plan{want: want}, "", nil
}
