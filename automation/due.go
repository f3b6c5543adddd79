package automation

import (
	"fmt"
	"time"

	"github.com/belfry-go/belfry/internal/civil"
	"github.com/belfry-go/belfry/keys"
)

// Due is a row whose moment has come, as providers and handlers see it.
type Due struct {
	Scope          Scope
	Key            string
	AutomationType string
	Type           string // the reminder type, or the host's automation type
	TriggerType    TriggerType
	BusinessUnit   string
	Setting        Setting
	Source         Source
	TriggerKey     string // the host's own, in a rerun too
	TargetDate     Date   // zero unless DateBased
	DaysBefore     int
	ScheduledOn    time.Time // UTC
	LocalDate      Date      // of ScheduledOn in Zone; zero unless DateBased, OncePerDay, of a series or a ManualRun
	Zone           string
	InputHash      string // what the row stands for
	// Threshold is set in a ThresholdCondition: what the key says, and for people
	// the Comparison, Value and Reading of the [Validator]'s candidate, or those of
	// the last reading. They are empty if there was none.
	Threshold *Threshold
	// Occurrence is set in an occurrence of a series.
	Occurrence *Occurrence
	// Run is the id of a ManualRun.
	Run string
	// Attempt is 1 for the first try; a lost lease counts as one.
	Attempt int
	// Rerun is how many times support had it done once more; see
	// [Scheduler.Rerun].
	Rerun int
}

// due decodes the row. The error says which column cannot be read.
func (r *Schedule) due() (Due, error) {
	d := Due{
		Scope: r.Scope, Key: r.Key, AutomationType: r.AutomationType, Type: r.Type, TriggerType: r.TriggerType,
		BusinessUnit: r.BusinessUnit, Setting: Setting{ID: r.Setting, Active: true}, Source: Source{r.SourceType, r.Source},
		DaysBefore: r.DaysBefore, ScheduledOn: r.ScheduledOn, Zone: r.TimeZone, InputHash: r.InputHash,
		Attempt: r.RetryCount + 1,
	}
	d.TriggerKey, d.Rerun = r.baseTriggerKey()
	if _, err := r.Dispatched(); err != nil {
		return Due{}, err
	}
	if r.recurs() {
		return d, r.recurring(&d)
	}
	switch r.TriggerType {
	case ScheduledRun:
		return d, nil
	case ManualRun:
		return d, r.manual(&d)
	case ThresholdCondition:
		return d, r.threshold(&d)
	case DateBased:
		return d, r.dates(&d)
	}
	return Due{}, fmt.Errorf("automation: trigger_type of %s: %.40q is unknown to this version", r.Key, r.TriggerType)
}

func (r *Schedule) dates(d *Due) (err error) {
	if d.TargetDate, err = civil.ParseDate(r.TargetDate); err != nil {
		return fmt.Errorf("automation: target_date of %s: %w", r.Key, err)
	}
	return r.local(d)
}

func (r *Schedule) recurring(d *Due) error {
	if err := r.local(d); err != nil {
		return err
	}
	zone, err := civil.LoadZone(r.TimeZone)
	if err == nil {
		d.Occurrence, err = r.occurrence(d.LocalDate, zone)
	}
	if err != nil {
		return fmt.Errorf("automation: occurrence of %s: %w", r.Key, err)
	}
	return nil
}

func (r *Schedule) manual(d *Due) error {
	parsed, err := keys.Parse(r.Key)
	k, ok := parsed.(keys.ManualReportRun)
	if !ok {
		return fmt.Errorf("automation: key of %s is none of a run that was asked for: %w", r.Key, err)
	}
	d.Run = k.Run
	return r.local(d)
}

func (r *Schedule) local(d *Due) (err error) {
	if d.LocalDate, err = civil.ParseDate(r.LocalDate); err != nil {
		return fmt.Errorf("automation: scheduled_local_date of %s: %w", r.Key, err)
	}
	if _, err = civil.LoadZone(r.TimeZone); err != nil {
		return fmt.Errorf("automation: time_zone of %s: %w", r.Key, err)
	}
	return nil
}
