package notify

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/internal/render"
)

// Renderer makes the parts of a message of a job for one recipient. It is
// called from several goroutines, and again whenever a try has failed; only
// the first result that is stored counts. It changes nothing.
type Renderer interface {
	Render(ctx context.Context, j Job, r Recipient) (Content, error)
}

// RendererFunc is a Renderer made of a function.
type RendererFunc func(ctx context.Context, j Job, r Recipient) (Content, error)

// Render calls f.
func (f RendererFunc) Render(ctx context.Context, j Job, r Recipient) (Content, error) {
	return f(ctx, j, r)
}

// Template is a [Renderer] of Go templates over the job's EventData: an object
// gives its members, such as {{.TargetDate}}, and anything else is {{.EventData}}.
// {{.Recipient.Name}} and the other fields of the recipient are there too,
// unless the data has a member of that name. What the recipient's own Data has
// comes before both. Of a [Digest], {{range .Entries}} has each job so, and {{.More}} counts
// those beyond; of a single job they stand beside its own. A name that is missing is an error. Integers can be compared:
// {{if gt .DaysBefore 0}}. {{.TargetDate | date "long"}}, or "short", writes a date by the
// recipient's locale, or by one that is named: date "long" "de". {{.UnsubscribeURL}}, and {{.PreferencesURL}}, which is the same, is
// the link of Options.Unsubscribe in Text and HTML: empty without one, for a Mandatory type,
// and in an inbox.
//
// Subject and Text are text/template, HTML is html/template and escapes what is
// put in. An empty part is left out. Parts beyond MaxSubject, MaxText and
// MaxHTML are refused, and so is a line break in the subject. A template does so much
// and no more: 50,000 steps, strings of 16 KiB by functions, no range over a number, no
// width of three digits; what asks for more is an [channel.ErrContent].
type Template struct{ Subject, Text, HTML string }

// Render parses and executes the templates. A Template given to Register is
// parsed there once, and Register panics if that fails.
func (t Template) Render(ctx context.Context, j Job, r Recipient) (Content, error) {
	compiled, err := t.compile()
	if err != nil {
		return Content{}, err
	}
	return compiled.Render(ctx, j, r)
}

// Compile parses the templates once, for a [Renderer] that is not given to a
// Register itself.
func (t Template) Compile() (Renderer, error) { return t.compile() }

type compiledTemplate struct{ subject, text, html *render.Template }

func (t Template) compile() (c compiledTemplate, err error) {
	if c.subject, err = render.Text("subject", t.Subject); err != nil {
		return c, fmt.Errorf("notify: template: %w", err)
	}
	if c.text, err = render.Text("text", t.Text); err != nil {
		return c, fmt.Errorf("notify: template: %w", err)
	}
	if c.html, err = render.HTML("html", t.HTML); err != nil {
		return c, fmt.Errorf("notify: template: %w", err)
	}
	return c, nil
}

func (c compiledTemplate) Render(ctx context.Context, j Job, r Recipient) (Content, error) {
	data, err := templateData(j, r, linkIn(ctx))
	if err != nil {
		return Content{}, err
	}
	ctx = render.In(ctx, r.Locale)
	out := Content{Locale: r.Locale}
	if out.Subject, err = execute(ctx, c.subject, data, channel.MaxSubject); err != nil {
		return Content{}, err
	}
	if out.Text, err = execute(ctx, c.text, data, channel.MaxText); err != nil {
		return Content{}, err
	}
	if out.HTML, err = execute(ctx, c.html, data, channel.MaxHTML); err != nil {
		return Content{}, err
	}
	return out, nil
}

func templateData(j Job, r Recipient, link string) (map[string]any, error) {
	entries := make([]map[string]any, len(j.Entries))
	for i, e := range j.Entries {
		of := r
		if len(e.Recipients) > 0 {
			of = e.Recipients[0]
		}
		var err error
		if entries[i], err = templateData(e.alone(), of, link); err != nil {
			return nil, err
		}
	}
	data := map[string]any{
		"Recipient": r, "EventData": nil, "Entries": entries, "More": j.More,
		"UnsubscribeURL": link, "PreferencesURL": link,
	}
	if err := addEventData(data, j.EventData); err != nil {
		return nil, err
	}
	for name, value := range r.Data {
		data[name] = value
	}
	return data, nil
}

func addEventData(data map[string]any, event json.RawMessage) error {
	if len(event) == 0 {
		return nil
	}
	var decoded any
	d := json.NewDecoder(bytes.NewReader(event))
	d.UseNumber() // an id beyond 2^53 stays what it is
	if err := d.Decode(&decoded); err != nil {
		return fmt.Errorf("notify: EventData: %w", err)
	}
	decoded = integers(decoded)
	data["EventData"] = decoded
	if object, ok := decoded.(map[string]any); ok {
		maps.Copy(data, object)
	}
	return nil
}

// integers makes integers of the numbers that are some, so that templates can
// compare them. One beyond 64 bits, and any other number, stays a json.Number,
// which prints as it was written.
func integers(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
	case map[string]any:
		for k, x := range v {
			v[k] = integers(x)
		}
	case []any:
		for i, x := range v {
			v[i] = integers(x)
		}
	}
	return v
}

// execute refuses as content what another try would meet again.
func execute(ctx context.Context, t *render.Template, data any, limit int) (string, error) {
	text, err := t.Execute(ctx, data, limit)
	switch {
	case errors.Is(err, render.ErrLimit):
		return "", fmt.Errorf("%w: template: %w", channel.ErrContent, err)
	case err != nil:
		return "", fmt.Errorf("notify: template: %w", err)
	}
	return text, nil
}

// rendered is what a renderer makes for one recipient, if a channel may send it. Its
// callers have a [work.Guard] around it.
func (n *core) rendered(ctx context.Context, renderer Renderer, j Job, r Recipient) (c Content, err error) {
	err = work.Recovered(func() (err error) {
		c, err = renderer.Render(n.linking(ctx, j, r), j, r)
		return err
	})
	if err == nil {
		err = cmp.Or(c.checkText(), c.check(), n.allowed(c))
	}
	if err != nil {
		return Content{}, err
	}
	return c, nil
}
