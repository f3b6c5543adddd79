package report

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
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
		err = s.throughJob(d, data, &out)
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
func (s *Service) throughJob(d delivery, data json.RawMessage, out *automation.Outcome) error {
	job := notify.Job{
		Scope: d.due.Scope, Type: d.due.Type,
		PartitionKey: d.due.Source.ID, RowKey: keys.AutomationRowKey(d.due.Key), BusinessUnit: d.due.BusinessUnit,
		EntityType: d.due.Source.Type, Entity: d.due.Source.ID, EventData: data, Recipients: d.to,
		InputHash: d.due.InputHash, SourceKey: d.due.Key, SourceOn: d.due.ScheduledOn,
	}
	schedule := notify.ScheduleFor(job, d.due.ScheduledOn)
	out.Jobs, out.Schedules = []notify.Job{job}, []notify.Schedule{schedule}
	out.Result.Notification = job.Coordinates()
	out.Result.UserMessages, out.Result.OutgoingMessages = s.out.PlannedMessages(job.Type, job.RowKey, job.SourceOn, job.Recipients)
	var err error
	out.Result.Scheduler, err = schedule.Guard()
	return err
}

// throughMessagingJob is the path of a report that many get: MessagingJob with its
// recipients in a blob, Schedule, OutgoingMessage.
func (s *Service) throughMessagingJob(ctx context.Context, d delivery, data json.RawMessage, out *automation.Outcome) error {
	payload, err := s.out.Campaigns().PutAudience(ctx, notify.AudienceOf(each(d.to)), &notify.PayloadOptions{EventData: data})
	if err != nil {
		return err
	}
	job := notify.MessagingJob{
		Scope: d.due.Scope, Type: d.due.Type,
		GUID: keys.MessagingJobGUID(d.due.Key), BusinessUnit: d.due.BusinessUnit,
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

// maxData bounds Report.Data in bytes of JSON.
const maxData = 4 << 10

// eventData is what the renderer of a report works on.
type eventData struct{ Report reportData }

type reportData struct {
	Subscription string
	Name         string
	Template     string `json:",omitempty"`
	Key          string
	Manual       string
	ScheduledOn  time.Time
	LocalDate    automation.Date
	LocalTime    string
	Zone         string
	Empty        bool
	Linked       bool
	Files        []fileData // those that are attached or linked to
	Inline       []fileData `json:",omitempty"` // bodies, and pictures that they show
	Data         json.RawMessage
}

// fileData is what a template may say about a file, and where the renderer finds
// it.
type fileData struct {
	Name, MediaType string
	ContentID       string `json:",omitempty"`
	Size            int64
	URL             string
	Body            bool `json:",omitempty"`
	Blob            string
	SHA256          string
}

func (d delivery) eventData(ctx context.Context, t Type) (json.RawMessage, error) {
	encoded, err := d.made.encoded()
	if err != nil {
		return nil, fmt.Errorf("report: Data: %w", err)
	}
	if len(encoded) > maxData {
		return nil, automation.Permanent(fmt.Errorf("%w: Data has %d bytes, more than %d", channel.ErrContent, len(encoded), maxData))
	}
	run := d.run
	data := reportData{
		Subscription: run.Subscription.GUID, Name: run.Subscription.Name, Template: run.Subscription.Template,
		Key: run.Key, Manual: run.Manual, ScheduledOn: run.ScheduledOn, LocalDate: run.LocalDate, LocalTime: run.LocalTime,
		Zone: run.Zone, Empty: d.made.Empty, Linked: run.Subscription.Delivery.Link, Files: []fileData{}, Data: encoded,
	}
	for _, f := range d.files {
		one := fileData{
			Name: f.Name, MediaType: f.MediaType, ContentID: f.ContentID, Size: f.Blob.Size, Body: f.body,
			Blob: f.Blob.Name, SHA256: f.Blob.SHA256,
		}
		if f.body || f.ContentID != "" {
			data.Inline = append(data.Inline, one)
			continue
		}
		if data.Linked {
			if one.URL, err = t.link(ctx, run, f.AttachmentRef); err != nil {
				return nil, err
			}
		}
		data.Files = append(data.Files, one)
	}
	return json.Marshal(eventData{data})
}

// link asks the host; a subscription may say Link where the type makes none, since
// it was saved by a process that does not know the type.
func (t Type) link(ctx context.Context, run Run, f notify.AttachmentRef) (string, error) {
	if t.Link == nil {
		return "", automation.Permanent(fmt.Errorf("report: %s makes no links", t.Name))
	}
	return t.Link(ctx, run, f)
}
