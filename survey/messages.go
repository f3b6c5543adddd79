package survey

import (
	"bytes"
	"fmt"
	htmltemplate "html/template"
	"io"
	"maps"
	"slices"
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
	subject, _ := localized(m.Subject, d.Locale)
	text, _ := localized(m.Text, d.Locale)
	html, locale := localized(m.HTML, d.Locale)
	data := textData{LinkData: d, Lang: locale, Dir: direction(locale)}
	if p.Subject, err = execute("subject", subject, data, notify.MaxSubject); err != nil {
		return p, err
	}
	p.Subject = strings.Join(strings.Fields(p.Subject), " ") // a value of two lines is no second header
	if p.Text, err = execute("text", text, data, notify.MaxText); err != nil {
		return p, err
	}
	p.HTML, err = executeHTML(html, data)
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

// localized takes the text of the locale, else of its parents (pt-BR, then pt),
// else the one for all locales, else English, else the first. It says which
// locale that is.
func localized(t Text, locale string) (text, of string) {
	for tag := strings.ReplaceAll(locale, "_", "-"); tag != ""; tag = parent(tag) {
		for have, text := range t {
			if strings.EqualFold(have, tag) {
				return text, have
			}
		}
	}
	if text, ok := t[""]; ok {
		return text, locale
	}
	if text, ok := t["en"]; ok {
		return text, "en"
	}
	for _, first := range slices.Sorted(maps.Keys(t)) {
		return t[first], first
	}
	return "", ""
}

func parent(tag string) string {
	if cut := strings.LastIndexByte(tag, '-'); cut >= 0 {
		return tag[:cut]
	}
	return ""
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
