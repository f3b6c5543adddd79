package notify

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"strings"

	"golang.org/x/text/language"

	"github.com/belfry-go/belfry/internal/render"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/keys"
)

// Renderer makes the parts of a message of a job for one recipient. It is
// called from several goroutines, and again whenever a try has failed; only
// the first result that is stored counts. It changes nothing.
type Renderer interface {
	Render(ctx context.Context, j Job, r Recipient) (Content, error)
}

// RendererFunc is a Renderer made of a function.
//
//spec:f-014
type RendererFunc func(ctx context.Context, j Job, r Recipient) (Content, error)

// Render calls f.
func (f RendererFunc) Render(ctx context.Context, j Job, r Recipient) (Content, error) {
	return f(ctx, j, r)
}

// Template is a [Renderer] of Go templates over the job's EventData: an object
// gives its members, such as {{.TargetDate}}, and anything else is {{.EventData}}.
// {{.Recipient.Name}} and the other fields of the recipient are there too,
// unless the data has a member of that name. What the recipient's own Data has
// comes before both. A name that is missing is an error. Integers can be compared:
// {{if gt .DaysBefore 0}}.
//
// Subject and Text are text/template, HTML is html/template and escapes what is
// put in. An empty part is left out. Parts beyond MaxSubject, MaxText and
// MaxHTML are refused, and so is a line break in the subject. A template does so much
// and no more: 50,000 steps, strings of 16 KiB by functions, no range over a number, no
// width of three digits; what asks for more is an [ErrContent].
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
	data, err := templateData(j.EventData, r)
	if err != nil {
		return Content{}, err
	}
	out := Content{Locale: r.Locale}
	if out.Subject, err = execute(ctx, c.subject, data, MaxSubject); err != nil {
		return Content{}, err
	}
	if out.Text, err = execute(ctx, c.text, data, MaxText); err != nil {
		return Content{}, err
	}
	if out.HTML, err = execute(ctx, c.html, data, MaxHTML); err != nil {
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

// execute refuses as content what another try would meet again.
func execute(ctx context.Context, t *render.Template, data any, limit int) (string, error) {
	text, err := t.Execute(ctx, data, limit)
	switch {
	case errors.Is(err, render.ErrLimit):
		return "", fmt.Errorf("%w: template: %w", ErrContent, err)
	case err != nil:
		return "", fmt.Errorf("notify: template: %w", err)
	}
	return text, nil
}

// Localized is a [Renderer] that has a [Template] for each locale, and takes the
// one that is nearest to the recipient's.
type Localized struct {
	templates map[language.Tag]compiledTemplate
	otherwise language.Tag
	version   string
}

// ParseLocalized reads the templates of one notification type from a folder: one
// file for each part and locale, named {part}.{locale}.tmpl, where a part is
// subject, text or html and a locale is a BCP 47 tag:
//
//	visit/subject.en.tmpl  visit/text.en.tmpl  visit/html.en.tmpl  visit/subject.pt-BR.tmpl
//
// otherwise is the locale of those for whom nothing nearer is there, and of
// those whose locale is unknown; it must be among the files. Every fault in the
// folder is listed.
//
//spec:f-018
func ParseLocalized(files fs.FS, dir, otherwise string) (*Localized, error) {
	set, err := readSet(files, dir, otherwise)
	l, fault := set.Compile()
	if err = errors.Join(err, fault); err != nil {
		return nil, fmt.Errorf("notify: templates in %s: %w", dir, err)
	}
	return l, nil
}

func readPart(files fs.FS, name string, parts map[language.Tag]*Template) error {
	fields := strings.Split(path.Base(name), ".")
	if len(fields) != 3 {
		return errors.New("it is not named {part}.{locale}.tmpl")
	}
	tag, err := language.Parse(fields[1])
	if err != nil {
		return fmt.Errorf("locale %.40q: %w", fields[1], err)
	}
	text, err := fs.ReadFile(files, name)
	if err != nil {
		return err
	}
	if parts[tag] == nil {
		parts[tag] = &Template{}
	}
	switch t := parts[tag]; fields[0] {
	case "subject":
		t.Subject = strings.TrimSpace(string(text)) // an editor's last line break is none of it
	case "text":
		t.Text = string(text)
	case "html":
		t.HTML = string(text)
	default:
		return fmt.Errorf("%.40q is none of subject, text and html", fields[0])
	}
	return nil
}

// Render takes the recipient's locale, then its parents (pt-BR, then pt), then
// the one for everybody else. Content.Locale says which it was, and
// Content.Missing which were looked for in vain.
func (l *Localized) Render(ctx context.Context, j Job, r Recipient) (Content, error) {
	var missing []string
	for _, tag := range l.chain(r.Locale) {
		t, ok := l.templates[tag]
		if !ok {
			missing = append(missing, tag.String())
			continue
		}
		r.Locale = tag.String()
		content, err := t.Render(ctx, j, r)
		content.Missing, content.Version = missing, l.version
		return content, err
	}
	return Content{}, fmt.Errorf("notify: there is no template for %.40q", r.Locale) // ParseLocalized has made sure of one
}

// chain are the locales to try; one that is no tag is passed over.
func (l *Localized) chain(locale string) []language.Tag {
	var out []language.Tag
	tag, err := language.Parse(locale)
	for ; err == nil && tag != language.Und; tag = tag.Parent() {
		out = append(out, tag)
	}
	return append(out, l.otherwise)
}

// rendered is what a renderer makes for one recipient, if a channel may send it.
func (n *core) rendered(ctx context.Context, renderer Renderer, j Job, r Recipient) (c Content, err error) {
	err = work.Guard(func() (err error) {
		c, err = renderer.Render(ctx, j, r)
		return err
	})
	if err == nil {
		err = cmp.Or(c.check(), n.allowed(c))
	}
	if err != nil {
		return Content{}, err
	}
	return c, nil
}

// templateFolder has the sets by type.
type templateFolder map[string]TemplateSet

func (f templateFolder) Templates(_ context.Context, _ Scope, notificationType string) (TemplateSet, error) {
	return f[notificationType], nil
}

// ReadTemplates reads the templates of all tenants from a folder, such as an embedded
// one: a folder for each notification type, with files as [ParseLocalized] has them.
// otherwise is the default locale of all. The version is a hash of the files. Every
// fault is listed.
func ReadTemplates(files fs.FS, otherwise string) (TemplateSource, error) {
	dirs, err := fs.ReadDir(files, ".")
	if err != nil {
		return nil, fmt.Errorf("notify: templates: %w", err)
	}
	out, faults := templateFolder{}, []error(nil)
	for _, d := range dirs {
		if !d.IsDir() {
			continue
		}
		set, err := readSet(files, d.Name(), otherwise)
		if err == nil {
			_, err = set.Compile()
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", d.Name(), err))
		}
		sum := keys.Sum("belfry-templates-1", string(mustJSON(set)))
		set.Version = hex.EncodeToString(sum[:6])
		out[d.Name()] = set
	}
	return out, errors.Join(faults...)
}

// readSet reads the files of one type.
func readSet(files fs.FS, dir, otherwise string) (TemplateSet, error) {
	set := TemplateSet{Default: otherwise, Locales: map[string]Template{}}
	names, err := fs.Glob(files, path.Join(dir, "*.tmpl"))
	if err != nil {
		return set, fmt.Errorf("notify: templates in %s: %w", dir, err)
	}
	parts := map[language.Tag]*Template{}
	var faults []error
	for _, name := range names {
		if err := readPart(files, name, parts); err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", name, err))
		}
	}
	for tag, t := range parts {
		set.Locales[tag.String()] = *t
	}
	return set, errors.Join(faults...)
}
