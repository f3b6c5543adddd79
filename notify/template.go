package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	htmltemplate "html/template"
	"io"
	"maps"
	"text/template"
)

// Template is a [Renderer] of Go templates over the job's EventData: an object
// gives its members, such as {{.TargetDate}}, and anything else is {{.EventData}}.
// {{.Recipient.Name}} and the other fields of the recipient are there too,
// unless the data has a member of that name. What the recipient's own Data has
// comes before both. A name that is missing is an error. Integers can be compared:
// {{if gt .DaysBefore 0}}.
//
// Subject and Text are text/template, HTML is html/template and escapes what is
// put in. An empty part is left out. Parts beyond MaxSubject, MaxText and
// MaxHTML are refused, and so is a line break in the subject.
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

// Compile parses the templates once, for a [Renderer] that is given to nobody's
// Register itself.
func (t Template) Compile() (Renderer, error) { return t.compile() }

// executor is what both kinds of template have in common.
type executor interface{ Execute(io.Writer, any) error }

type compiledTemplate struct{ subject, text, html executor }

func (t Template) compile() (c compiledTemplate, err error) {
	if c.subject, err = template.New("subject").Option("missingkey=error").Parse(t.Subject); err != nil {
		return c, fmt.Errorf("notify: template: %w", err)
	}
	if c.text, err = template.New("text").Option("missingkey=error").Parse(t.Text); err != nil {
		return c, fmt.Errorf("notify: template: %w", err)
	}
	if c.html, err = htmltemplate.New("html").Option("missingkey=error").Parse(t.HTML); err != nil {
		return c, fmt.Errorf("notify: template: %w", err)
	}
	return c, nil
}

func (c compiledTemplate) Render(_ context.Context, j Job, r Recipient) (Content, error) {
	data, err := templateData(j.EventData, r)
	if err != nil {
		return Content{}, err
	}
	out := Content{Locale: r.Locale}
	if out.Subject, err = execute(c.subject, data, MaxSubject); err != nil {
		return Content{}, err
	}
	if out.Text, err = execute(c.text, data, MaxText); err != nil {
		return Content{}, err
	}
	if out.HTML, err = execute(c.html, data, MaxHTML); err != nil {
		return Content{}, err
	}
	return out, nil
}

func templateData(event json.RawMessage, r Recipient) (map[string]any, error) {
	data := map[string]any{"Recipient": r, "EventData": nil}
	if err := addEventData(data, event); err != nil {
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

func execute(t executor, data any, limit int) (string, error) {
	w := &cappedBuffer{limit: limit}
	if err := t.Execute(w, data); err != nil {
		return "", fmt.Errorf("notify: template: %w", err)
	}
	return string(w.text), nil
}

// cappedBuffer refuses output beyond its limit, so that a template that loops
// ends early.
type cappedBuffer struct {
	text  []byte
	limit int
}

func (b *cappedBuffer) Write(p []byte) (int, error) {
	if len(b.text)+len(p) > b.limit {
		return 0, fmt.Errorf("%w: output exceeds %d bytes", ErrContent, b.limit)
	}
	b.text = append(b.text, p...)
	return len(p), nil
}
