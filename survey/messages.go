package survey

import (
	"bytes"
	"fmt"
	htmltemplate "html/template"
	"io"
	"strings"
	"text/template"

	"github.com/belfry-go/belfry/notify"
)

// renderText makes the parts of a send from the definition's texts, or from those
// that come with the package.
func renderText(messages []MessageText, d LinkData) (p Parts, err error) {
	m, ok := messageFor(messages, d.Ordinal)
	if !ok {
		m = defaultMessage(d.Ordinal)
	}
	locale := m.HTML.Locale(d.Locale)
	if locale == "" { // a text for everybody
		locale = d.Locale
	}
	data := textData{LinkData: d, Lang: locale, Dir: direction(locale)}
	if p.Subject, err = execute("subject", m.Subject.For(d.Locale), data, notify.MaxSubject); err != nil {
		return p, err
	}
	p.Subject = strings.Join(strings.Fields(p.Subject), " ") // a value of two lines is no second header
	if p.Text, err = execute("text", m.Text.For(d.Locale), data, notify.MaxText); err != nil {
		return p, err
	}
	p.HTML, err = executeHTML(m.HTML.For(d.Locale), data)
	return p, err
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

// direction is that of the script, as HTML's dir.
func direction(locale string) string {
	language, _, _ := strings.Cut(strings.ToLower(strings.ReplaceAll(locale, "_", "-")), "-")
	switch language {
	case "ar", "arc", "ckb", "dv", "fa", "he", "iw", "ps", "sd", "syr", "ug", "ur", "yi":
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
	return run(t, data, notify.MaxHTML)
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
