package report

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage"
)

// Type is a kind of report and all that the host's code says about it. Only Name
// and Builder are required.
type Type struct {
	// Name is stored with subscriptions and runs, and must be the same in every
	// process. It is the name of the notify.Type, too.
	Name    string
	Builder Builder

	// Template makes the messages, over {"Report":{"Name","Key","ScheduledOn",
	// "LocalDate","LocalTime","Zone","Manual","Empty","Data","Files":[{"Name",
	// "MediaType","Size","URL"}]}}: a notify.Template, or any Renderer; nil: files alone.
	// Templates are others that subscriptions name.
	Template  notify.Renderer
	Templates map[string]notify.Renderer
	// Recipients resolves whom a run is for, from its Subscription.Recipients or from
	// elsewhere; nil: those. It is asked before the report is built.
	Recipients func(ctx context.Context, run Run) ([]notify.Recipient, error)
	// Link makes the URL of a file, for subscriptions with Delivery.Link; what it
	// leads to can be read by [Service.OpenFile]. It is called before
	// the file is kept, so it only names it.
	Link func(ctx context.Context, run Run, file notify.AttachmentRef) (string, error)

	// MaxBytes bounds the parts of a report together; default notify.MaxAttachments,
	// the most that is attached to a message. A larger report is stopped at once
	// and waits for a person.
	MaxBytes int64
	// LongRunning types are tried again every 24 h after the usual steps, at most
	// seven times, before they are put on hold.
	LongRunning bool
	// Lateness is about runs that no worker began in time; default: each one runs,
	// however late.
	Lateness automation.Lateness
	// Guarded runs may be done by an old scheduler as well: which of the two delivers
	// one, the ownership guard decides; see automation.ReminderType.
	Guarded bool
	// InDoubt is the policy of the messages; see notify.Type.
	InDoubt notify.InDoubt
	// Retention says when ended runs are deleted; the zero value keeps them.
	Retention automation.Retention
}

// Register adds a type: from now on this process runs its reports and renders
// their messages. It panics on what only a programmer can get wrong: no Builder, a
// name that no key can hold or that is taken, a template that does not parse, and
// on a service that is bound to a transaction.
func (s *Service) Register(t Type) {
	if s.tx != nil {
		panic(fmt.Sprintf("report: Register(%q): inside a transaction", t.Name))
	}
	t, err := t.compiled()
	if err != nil {
		panic(fmt.Sprintf("report: Register(%q): %v", t.Name, err))
	}
	t.MaxBytes = cmp.Or(t.MaxBytes, notify.MaxAttachments)
	s.types.mu.Lock()
	_, taken := s.types.byName[t.Name]
	if !taken {
		s.types.byName[t.Name] = t
	}
	s.types.mu.Unlock()
	if taken {
		panic(fmt.Sprintf("report: Register(%q): the name is registered already", t.Name))
	}
	s.out.Register(notify.Type{
		Name: t.Name, Renderer: renderer{s.store.Blobs(), t}, InDoubt: t.InDoubt,
		Revalidator: notify.RevalidatorFunc(s.revalidate),
	})
	s.scheduler.HandleReports(automation.WorkType{
		Name: t.Name, Handler: automation.HandlerFunc(s.handle), Lateness: t.Lateness,
		LongRunning: t.LongRunning, Guarded: t.Guarded, Retention: t.Retention,
	})
}

// compiled checks t, and parses its templates.
func (t Type) compiled() (Type, error) {
	switch {
	case t.Builder == nil:
		return t, errors.New("it has no Builder")
	case t.MaxBytes < 0:
		return t, errors.New("a negative MaxBytes")
	case t.Template == nil:
		t.Template = notify.Template{}
	}
	var err error
	if t.Template, err = compiled(t.Template); err != nil {
		return t, err
	}
	given := t.Templates
	t.Templates = map[string]notify.Renderer{}
	for name, one := range given {
		if name == "" || one == nil {
			return t, errors.New("a template without a name, or nil")
		}
		if t.Templates[name], err = compiled(one); err != nil {
			return t, fmt.Errorf("template %q: %w", name, err)
		}
	}
	return t, nil
}

func compiled(r notify.Renderer) (notify.Renderer, error) {
	if t, ok := r.(notify.Template); ok {
		return t.Compile()
	}
	return r, nil
}

// renderer gives the template of that name; empty is the type's own.
func (t Type) renderer(name string) (notify.Renderer, bool) {
	if name == "" {
		return t.Template, true
	}
	found, ok := t.Templates[name]
	return found, ok
}

// Builder makes the report of a run. It is called from several goroutines, and
// again for the same run whenever a try has failed or what it made could not be
// stored. It changes nothing.
type Builder interface {
	// Build says what the report is made of; the parts are written afterwards. ctx
	// ends when the lease of the run is lost or the process stops, for the parts as
	// well. An error fails the try; see automation.Permanent.
	Build(ctx context.Context, run Run) (Report, error)
}

// BuilderFunc is a Builder made of a function.
type BuilderFunc func(ctx context.Context, run Run) (Report, error)

// Build calls f.
func (f BuilderFunc) Build(ctx context.Context, run Run) (Report, error) { return f(ctx, run) }

// Run is one run of a subscription, as it is at this moment.
type Run struct {
	// Key is the scheduler key.
	Key          string
	Subscription Subscription
	// Manual is the id of a run that a person asked for; empty: the cadence did.
	Manual string
	// ScheduledOn is the moment in UTC, LocalDate and LocalTime ("09:00", "09:00:30"
	// of a run that was asked for) what the clocks of Zone show, or what the cadence says where clocks skip it.
	ScheduledOn time.Time
	LocalDate   automation.Date
	LocalTime   string
	Zone        string
	// Attempt is 1 for the first try.
	Attempt int
}

// Report is what a Builder made.
type Report struct {
	// Empty says that there is nothing to report; see Delivery.SendEmpty.
	Empty bool
	// Parts are its files, at most 8.
	Parts []Part
	// Data is for the template, which finds it as {{.Report.Data}}: a few totals,
	// encoded as JSON of at most 4 KiB.
	Data any
	// Summary is for support, in a line of at most 200 bytes. No personal data.
	Summary string
}

// Part is one file of a report.
type Part struct {
	// Name is the file name that recipients see, MediaType as in "text/csv". Both are
	// required, of a Body too.
	Name, MediaType string
	// ContentID makes it a picture that the HTML shows as "cid:{ContentID}".
	ContentID string
	// Body makes it the message's own text, instead of a file: one part of
	// "text/html" and one of "text/plain" at most. What the template says in that
	// place is not sent.
	Body bool
	// Write gives the content. It is called once and streamed, so a part may be
	// larger than memory; an error of w (too much, or the run is over) ends it.
	Write func(ctx context.Context, w io.Writer) error
}

// encoded is Data as JSON.
func (r Report) encoded() (json.RawMessage, error) {
	if r.Data == nil {
		return nil, nil
	}
	return json.Marshal(r.Data)
}

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
	mail := channel.Method(to.Channel) == "email"
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
	text, err := io.ReadAll(io.LimitReader(in, channel.MaxHTML+1)) // the limit of a text is checked by its owner
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
