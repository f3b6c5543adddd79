package report

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
)

// maxNamed is how many recipients a notification job names itself.
const maxNamed = 500

// delivery is a run whose report was built.
type delivery struct {
	due   automation.Due
	run   Run
	made  Report
	to    []notify.Recipient
	files []file
}

// deliver stores the parts and says which artifacts deliver them. All identities
// follow from the scheduler key, so the row can name them before they exist.
func (s *Service) deliver(ctx context.Context, t Type, d delivery) (automation.Outcome, error) {
	if !d.run.Subscription.Delivery.Link {
		t.MaxBytes = min(t.MaxBytes, notify.MaxAttachments)
	}
	var err error
	if d.files, err = t.write(ctx, s.store.Blobs(), d.made.Parts); err != nil {
		return automation.Outcome{}, err
	}
	data, err := d.eventData(ctx, t)
	if err != nil {
		return automation.Outcome{}, err
	}
	out := automation.Outcome{Result: notify.DispatchResult{
		Path: notify.PathReportSubscription, Summary: d.summary(),
		AutomationJob: notify.Coordinates{PartitionKey: d.due.Source.ID, RowKey: keys.AutomationRowKey(d.due.Key)},
	}}
	for _, f := range d.files {
		out.Result.Files = append(out.Result.Files, f.AttachmentRef)
		out.Blobs = append(out.Blobs, f.Blob)
	}
	out.BlobsUntil = s.now().Add(s.opts.Keep)
	if d.run.Subscription.Delivery.Bulk || len(d.to) > maxNamed || len(data) > notify.MaxEventData {
		err = s.throughMessagingJob(ctx, d, data, &out)
	} else {
		err = d.throughJob(data, &out)
	}
	return out, err
}

func (d delivery) summary() string {
	text := fmt.Sprintf("recipients: %d, files: %d", len(d.to), len(d.files))
	if d.made.Empty {
		text += ", empty"
	}
	if d.made.Summary != "" {
		text += "; " + d.made.Summary
	}
	return cut(text)
}

// throughJob is the path of a report that few get: Job, Schedule, OutgoingMessage.
func (d delivery) throughJob(data json.RawMessage, out *automation.Outcome) error {
	job := notify.Job{
		Record:       storage.Record{Scope: d.due.Scope, Type: d.due.Type},
		PartitionKey: d.due.Source.ID, RowKey: keys.AutomationRowKey(d.due.Key), BusinessUnit: d.due.BusinessUnit,
		EntityType: d.due.Source.Type, Entity: d.due.Source.ID, EventData: data, Recipients: d.to,
		InputHash: d.due.InputHash, SourceKey: d.due.Key, SourceOn: d.due.ScheduledOn,
	}
	schedule := notify.ScheduleFor(job, d.due.ScheduledOn)
	out.Jobs, out.Schedules = []notify.Job{job}, []notify.Schedule{schedule}
	out.Result.Notification = job.Coordinates()
	var err error
	out.Result.Scheduler, err = schedule.Guard()
	return err
}

// throughMessagingJob is the path of a report that many get: MessagingJob with its
// recipients in a blob, Schedule, OutgoingMessage.
func (s *Service) throughMessagingJob(ctx context.Context, d delivery, data json.RawMessage, out *automation.Outcome) error {
	payload, err := s.out.PutAudience(ctx, notify.AudienceOf(each(d.to)), &notify.PayloadOptions{EventData: data})
	if err != nil {
		return err
	}
	job := notify.MessagingJob{
		Record: storage.Record{Scope: d.due.Scope, Type: d.due.Type},
		GUID:   keys.MessagingJobGUID(d.due.Key), BusinessUnit: d.due.BusinessUnit,
		Blob: payload.Blob, AudienceSize: payload.Recipients, InputHash: d.due.InputHash,
	}
	schedule := notify.ScheduleForCampaign(job, d.due.ScheduledOn)
	out.MessagingJobs, out.Schedules = []notify.MessagingJob{job}, []notify.Schedule{schedule}
	out.Result.MessagingJob = job.GUID
	out.Result.Scheduler, err = schedule.Guard()
	return err
}

func each(to []notify.Recipient) iter.Seq2[notify.Recipient, error] {
	return func(yield func(notify.Recipient, error) bool) {
		for _, r := range to {
			if !yield(r, nil) {
				return
			}
		}
	}
}
