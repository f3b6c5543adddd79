package report

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
)

// renderer makes the messages of a type: what the template says, with the files of
// the run.
type renderer struct {
	blobs storage.Blobs
	t     Type
}

// Render is notify.Renderer's.
func (r renderer) Render(ctx context.Context, j notify.Job, to notify.Recipient) (notify.Content, error) {
	var data eventData
	if err := json.Unmarshal(j.EventData, &data); err != nil {
		return notify.Content{}, fmt.Errorf("report: EventData: %w", err)
	}
	template, ok := r.t.renderer(data.Report.Template)
	if !ok {
		return notify.Content{}, fmt.Errorf("report: %s has no template %q here", r.t.Name, data.Report.Template)
	}
	c, err := template.Render(ctx, j, to)
	if err != nil {
		return notify.Content{}, err
	}
	mail := notify.Method(to.Channel) == "email"
	for _, f := range data.Report.Inline {
		switch {
		case f.Body:
			if err := r.body(ctx, &c, f); err != nil {
				return notify.Content{}, err
			}
		case mail:
			c.Attachments = append(c.Attachments, f.attachment())
		}
	}
	for _, f := range data.Report.Files {
		if mail && !data.Report.Linked {
			c.Attachments = append(c.Attachments, f.attachment())
		}
	}
	return c, nil
}

// body puts a part into the place of what the template says.
func (r renderer) body(ctx context.Context, c *notify.Content, f fileData) error {
	in, err := r.blobs.Open(ctx, f.ref(), 0)
	if err != nil {
		return fmt.Errorf("report: body: %w", err)
	}
	defer in.Close()
	text, err := io.ReadAll(io.LimitReader(in, notify.MaxHTML+1)) // the limit of a text is checked by its owner
	if err != nil {
		return fmt.Errorf("report: body: %w", err)
	}
	if f.MediaType == mediaHTML {
		c.HTML = string(text)
	} else {
		c.Text = string(text)
	}
	return nil
}

func (f fileData) ref() storage.Ref { return storage.Ref{Name: f.Blob, Size: f.Size, SHA256: f.SHA256} }

func (f fileData) attachment() notify.AttachmentRef {
	return notify.AttachmentRef{Name: f.Name, MediaType: f.MediaType, ContentID: f.ContentID, Blob: f.ref()}
}

const mediaHTML = "text/html"
