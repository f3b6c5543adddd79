package automation

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
)

// eventData is what the renderer of a reminder works on.
type eventData struct {
	Source     Source
	TargetDate Date
	DaysBefore int
	Key        string
	Occurrence *occurrenceData `json:",omitempty"` // of a recurring reminder
	*thresholdData
}

// occurrenceData is what texts may say about an occurrence.
type occurrenceData struct {
	LocalDate Date
	LocalTime string
	Zone      string
}

func (d Due) occurrenceData() *occurrenceData {
	if d.Occurrence == nil {
		return nil
	}
	return &occurrenceData{d.Occurrence.LocalDate, d.Occurrence.LocalTime, d.Occurrence.Zone}
}

// makeArtifacts says what delivery needs: the path of a direct reminder. All
// identities follow from the row, so the row can name them before they exist.
func (b *batch) makeArtifacts(context.Context) {
	b.each(func(t *try) error {
		job, err := t.job(b.reminder.notificationType())
		if err != nil {
			return err
		}
		schedule := notify.ScheduleFor(job, t.row.ScheduledOn)
		guard, err := schedule.Guard()
		if err != nil {
			return err
		}
		t.result = notify.DispatchResult{
			Path: path(t.to), AutomationJob: job.Coordinates(), Notification: job.Coordinates(), Scheduler: guard,
			Summary: fmt.Sprintf("recipients: %d", len(t.to)),
		}
		t.decision = &decision{artifacts: Artifacts{
			AutomationJobs: []notify.AutomationJob{t.mirror()}, Jobs: []notify.Job{job}, Schedules: []notify.Schedule{schedule},
		}}
		t.done = true
		return nil
	})
}

func (t *try) job(notificationType string) (notify.Job, error) {
	row := t.row
	data, err := json.Marshal(eventData{t.due.Source, t.due.TargetDate, row.DaysBefore, row.Key, t.due.occurrenceData(), t.due.thresholdData()})
	return notify.Job{
		Record:       storage.Record{Scope: row.Scope, Type: notificationType, Lane: row.Lane},
		PartitionKey: row.Source, RowKey: keys.AutomationRowKey(row.Key), BusinessUnit: row.BusinessUnit,
		EntityType: row.SourceType, Entity: row.Source, EventData: data, Recipients: t.to,
		InputHash: row.InputHash, SourceKey: row.Key, SourceOn: row.ScheduledOn,
	}, err
}

// mirror is the row's trace in the history of its source.
func (t *try) mirror() notify.AutomationJob {
	row := t.row
	return notify.AutomationJob{
		Record:       storage.Record{Scope: row.Scope, Type: row.AutomationType, Lane: row.Lane},
		PartitionKey: row.Source, RowKey: keys.AutomationRowKey(row.Key), SchedulerKey: row.Key,
		TriggerType: string(row.TriggerType), BusinessUnit: row.BusinessUnit, SourceType: row.SourceType,
		Source: row.Source, Setting: row.Setting, InputHash: row.InputHash, Result: t.result, ScheduledOn: row.ScheduledOn,
	}
}

// path is by (Communication - System architecture, "Choose send path by
// producer"): a reminder that goes to inboxes only makes no outgoing message.
func path(to []notify.Recipient) notify.Path {
	outgoing := func(r notify.Recipient) bool { return r.Channel != "" }
	if len(to) > 0 && !slices.ContainsFunc(to, outgoing) {
		return notify.PathUIOnlyReminder
	}
	return notify.PathDirectReminder
}
