package form

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	htmltemplate "html/template"
	"io"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"time"
	"unicode/utf8"

	"github.com/belfry-go/belfry/internal/strictjson"
	"github.com/belfry-go/belfry/notify/channel"
)

// LinkData is what the text of a send is made of. Templates of a definition have,
// beside its fields, {{.Lang}} and {{.Dir}}: the locale of the text that was chosen
// for the recipient, and "rtl" or "ltr".
type LinkData struct {
	// URL opens the form; PublicID is for correlation.
	URL, PublicID string
	// UnsubscribeURL leads to the page on which the recipient of a mail wants no more of
	// them; empty where there is none.
	UnsubscribeURL string
	Survey         string // its name, which is for people on the host's side
	IntegrationID  string
	TriggerID      string
	// Title is the survey's title in the recipient's language; it may be empty.
	Title    string
	SurveyID int64
	Locale   string
	// Ordinal is 0 for the initial send, 1 and up for the reminders. Attempt counts
	// the calls of the channel, this one included.
	Ordinal, Attempt int
	// TriggeredOn is the moment of the event, in the recipient's zone, or in UTC.
	TriggeredOn time.Time
	CustomerRef string
	Address     string
	// Metadata is the payload of the event; see [LinkData.Value].
	Metadata json.RawMessage
}

// Parts are the text of a send.
type Parts struct {
	Subject, Text, HTML string
	// Template is set where the provider holds the text itself; Locale is then the
	// language that it is in, and empty: the recipient's.
	Template channel.ProviderTemplate
	Locale   string
}

// Value is the value at a path of the event's payload, as it was written, such as
// {{.Value "CustomerName"}} or {{.Value "vehicle.model"}}. It is empty where there
// is none, and for an object or an array.
func (d LinkData) Value(path string) string {
	var v any
	dec := json.NewDecoder(bytes.NewReader(d.Metadata))
	dec.UseNumber() // an id beyond 2^53 stays what it is
	if dec.Decode(&v) != nil {
		return ""
	}
	for name := range strings.SplitSeq(path, ".") {
		object, ok := v.(map[string]any)
		if !ok {
			return ""
		}
		v = object[name]
	}
	switch v := v.(type) {
	case string:
		return v
	case json.Number, bool:
		return fmt.Sprint(v)
	}
	return ""
}

// Choose is the address of the form with an answer that is chosen already, of a rating or a
// choice: {{.Choose "rate" 9}}. It is stored when the form is sent, and not before.
func (d LinkData) Choose(question string, answer any) string {
	join := "?"
	if strings.Contains(d.URL, "?") {
		join = "&"
	}
	return d.URL + join + url.QueryEscape("q."+question) + "=" + url.QueryEscape(fmt.Sprint(answer))
}

// Sendable refuses what no channel may send.
func (p Parts) Sendable() bool {
	for _, part := range []struct {
		text  string
		limit int
	}{{p.Subject, channel.MaxSubject}, {p.Text, channel.MaxText}, {p.HTML, channel.MaxHTML}} {
		if len(part.text) > part.limit || !utf8.ValidString(part.text) || strings.ContainsRune(part.text, 0) {
			return false
		}
	}
	return !strings.ContainsAny(p.Subject, "\r\n")
}

// Render makes the parts of a send from the definition's texts, or from those
// that come with the package.
func Render(messages []MessageText, d LinkData) (p Parts, err error) {
	m, ok := messageFor(messages, d.Ordinal)
	if !ok {
		m = defaultMessage(d.Ordinal)
	}
	locale := m.HTML.Locale(d.Locale)
	if locale == "" { // a text for everybody
		locale = d.Locale
	}
	data := textData{LinkData: d, Lang: locale, Dir: Direction(locale)}
	if p.Subject, err = execute("subject", m.Subject.For(d.Locale), data, channel.MaxSubject); err != nil {
		return p, err
	}
	p.Subject = strings.Join(strings.Fields(p.Subject), " ") // a value of two lines is not a second header
	if p.Text, err = execute("text", m.Text.For(d.Locale), data, channel.MaxText); err != nil {
		return p, err
	}
	if p.HTML, err = executeHTML(m.HTML.For(d.Locale), data); err != nil || m.Template == nil {
		return p, err
	}
	p.Template.Name, p.Locale = m.Template.Name.For(d.Locale), m.Template.Name.Locale(d.Locale)
	for _, param := range m.Template.Params {
		text, err := execute("template", param, data, channel.MaxText)
		if err != nil {
			return p, err
		}
		p.Template.Params = append(p.Template.Params, text)
	}
	return p, nil
}

// textData is what templates see: the fields of [LinkData], and the language and
// direction of the text that was chosen.
type textData struct {
	LinkData
	Lang, Dir string
}

// messageFor takes the text of that send, or else that of the one before it.
func messageFor(messages []MessageText, ordinal int) (best MessageText, found bool) {
	for _, m := range messages {
		if m.Ordinal <= ordinal && (!found || m.Ordinal > best.Ordinal) {
			best, found = m, true
		}
	}
	return best, found
}

// rightToLeft are languages and scripts that are written from right to left.
var rightToLeft = []string{
	"ar", "arc", "ckb", "dv", "fa", "he", "iw", "khw", "ks", "ps", "sd", "syr", "ug", "ur", "yi",
}

var leftToRightScripts, rightToLeftScripts = []string{"latn", "cyrl", "deva"}, []string{"arab", "hebr", "thaa", "syrc", "nkoo"}

// Direction is that of a locale's script, as HTML's dir: "rtl" or "ltr". Mails and forms
// have it.
func Direction(locale string) string {
	parts := strings.Split(strings.ToLower(strings.ReplaceAll(locale, "_", "-")), "-")
	for _, part := range parts {
		switch {
		case slices.Contains(rightToLeftScripts, part):
			return "rtl"
		case slices.Contains(leftToRightScripts, part):
			return "ltr"
		}
	}
	if slices.Contains(rightToLeft, parts[0]) {
		return "rtl"
	}
	return "ltr"
}

func execute(name, text string, data any, limit int) (string, error) {
	t, err := template.New(name).Option("missingkey=error").Parse(text)
	if err != nil {
		return "", fmt.Errorf("survey: template: %w", err)
	}
	return run(t, data, limit)
}

func executeHTML(text string, data any) (string, error) {
	t, err := htmltemplate.New("html").Option("missingkey=error").Parse(text)
	if err != nil {
		return "", fmt.Errorf("survey: template: %w", err)
	}
	return run(t, data, channel.MaxHTML)
}

func run(t interface{ Execute(io.Writer, any) error }, data any, limit int) (string, error) {
	w := &capped{limit: limit}
	if err := t.Execute(w, data); err != nil {
		return "", fmt.Errorf("survey: template: %w", err)
	}
	return w.String(), nil
}

// capped refuses output beyond its limit, so that a template that loops ends early.
type capped struct {
	bytes.Buffer
	limit int
}

func (c *capped) Write(p []byte) (int, error) {
	if c.Len()+len(p) > c.limit {
		return 0, fmt.Errorf("the output exceeds %d bytes", c.limit)
	}
	return c.Buffer.Write(p)
}

func (c *checker) messages(messages []MessageText) {
	c.length("messages", len(messages), maxReminders+1)
	ordinals := c.once()
	for i, m := range messages {
		at := strictjson.Element("messages", i)
		if m.Ordinal < 0 || m.Ordinal > maxReminders {
			c.add(strictjson.Member(at, "ordinal"), "is not from 0 to %d", maxReminders)
		}
		ordinals.say(strictjson.Member(at, "ordinal"), strconv.Itoa(m.Ordinal))
		c.template(strictjson.Member(at, "subject"), "subject", m.Subject, maxLine, "", parseText, sampleText)
		c.template(strictjson.Member(at, "text"), "text", m.Text, maxProse, lineBreaks, parseText, sampleText)
		c.template(strictjson.Member(at, "html"), "html", m.HTML, maxHTML, lineBreaks, parseHTML, sampleHTML)
		if m.Template != nil {
			c.providerTemplate(strictjson.Member(at, "template"), m.Template)
		}
	}
}

// maxParams bounds the parameters of a provider's template.
const maxParams = 20

func (c *checker) providerTemplate(at string, t *ProviderTemplate) {
	c.text(strictjson.Member(at, "name"), t.Name, maxName, "")
	c.length(strictjson.Member(at, "params"), len(t.Params), maxParams)
	for i, p := range t.Params {
		c.template(strictjson.Element(strictjson.Member(at, "params"), i), "params", Text{"": p}, maxLine, "", parseText, sampleText)
	}
}

// maxHTML bounds an HTML template in characters.
const maxHTML = 100_000

// template checks a member of a message whose locales are templates.
func (c *checker) template(path, name string, t Text, limit int, allowed string, parse func(name, text string) error, sample func(name, text string) (string, error)) {
	c.text(path, t, limit, allowed)
	for _, locale := range slices.Sorted(maps.Keys(t)) {
		if err := parse(name, t[locale]); err != nil {
			c.add(t.path(path, locale), "is not a template: %v", err)
		} else if err := endless(name, t[locale]); err != nil {
			c.add(t.path(path, locale), "cannot be run: %v", err)
		} else if _, err := sample(name, t[locale]); err != nil {
			c.add(t.path(path, locale), "cannot be run: %v", errors.Unwrap(err))
		}
	}
}

func parseText(name, text string) error {
	_, err := template.New(name).Parse(text)
	return err
}

func parseHTML(name, text string) error {
	_, err := htmltemplate.New(name).Parse(text)
	return err
}

// sample is what templates are tried on. The event has a value at every path, long
// enough for a template that takes parts of it.
type sample struct{ textData }

// Value is in the place of [LinkData.Value].
func (sample) Value(string) string { return strings.Repeat("0123456789", 10) }

const sampleURL = "https://host.example/s/sample"

func sampleData() sample {
	return sample{textData{
		LinkData: LinkData{
			URL: sampleURL, UnsubscribeURL: sampleURL + "/unsubscribe", PublicID: "SAMPLE0123456789SAMPLE0123456789",
			Survey: "Sample survey", IntegrationID: "sample", SurveyID: 1, TriggerID: "sample", Locale: "en-GB",
			Attempt: 1, TriggeredOn: time.Date(2026, time.May, 14, 5, 12, 34, 0, time.UTC),
			CustomerRef: "sample-0123456789", Address: "sample@host.example", Metadata: json.RawMessage(`{}`),
		},
		Lang: "en-GB", Dir: "ltr",
	}}
}

func sampleText(name, text string) (string, error) {
	return execute(name, text, sampleData(), channel.MaxText)
}

func sampleHTML(_, text string) (string, error) { return executeHTML(text, sampleData()) }

// withoutLink warns of messages in which there is no link.
func (d *Definition) withoutLink(f *strictjson.Faults) {
	for i, m := range d.Messages {
		at := strictjson.Element("messages", i)
		m.Text.withoutLink(at, "text", sampleText, f)
		m.HTML.withoutLink(at, "html", sampleHTML, f)
		if m.Template != nil {
			Text{"": strings.Join(m.Template.Params, " ")}.withoutLink(at, "template", sampleText, f)
		}
	}
}

func (t Text) withoutLink(at, name string, sample func(name, text string) (string, error), f *strictjson.Faults) {
	for _, locale := range slices.Sorted(maps.Keys(t)) {
		if text, _ := sample(name, t[locale]); !strings.Contains(text, sampleURL) {
			f.Add(t.path(strictjson.Member(at, name), locale), "has no {{.URL}}: customers get no link")
		}
	}
}
