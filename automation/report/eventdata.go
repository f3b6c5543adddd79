package report

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/notify"
)

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
		return nil, automation.Permanent(fmt.Errorf("%w: Data has %d bytes, more than %d", notify.ErrContent, len(encoded), maxData))
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
