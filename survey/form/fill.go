package form

import (
	"bytes"
	"encoding/json"
	"net/url"
	"strings"

	"github.com/belfry-go/belfry/internal/strictjson"
	"github.com/belfry-go/belfry/notify/channel"
)

// Fill puts values of the event into a text of the form that asks for them as those of
// messages do, such as {{.Value "city"}}. Other texts stay as they are, and so does one
// that was published as no template.
func Fill(text string, d LinkData) string {
	return fill(text, textData{LinkData: d, Lang: d.Locale, Dir: Direction(d.Locale)})
}

// Unfilled is a text of the form where it is shown without an event: "…" stands for the
// values.
func Unfilled(text string) string { return fill(text, unfilled{}) }

type unfilled struct{ textData }

// Value takes the place of the event's.
func (unfilled) Value(string) string { return "…" }

func fill(text string, data any) string {
	if !strings.Contains(text, "{{") {
		return text
	}
	filled, err := execute("text", text, data, channel.MaxText)
	if err != nil {
		return text
	}
	return filled
}

// words checks a text of the form, which may be a template.
func (c *checker) words(path string, t Text, limit int, allowed string) {
	for _, text := range t {
		if strings.Contains(text, "{{") {
			c.template(path, "text", t, limit, allowed, parseText, sampleText)
			return
		}
	}
	c.text(path, t, limit, allowed)
}

// Ending is a page of thanks for some answers.
type Ending struct {
	// When says for which, by question id; nil: for all that no ending before it is for.
	When *Filter `json:"when,omitempty"`
	Text Text    `json:"text"`
	// Link is an https address that the page leads to, such as one to review the workshop,
	// and Label what the link says; empty: no link.
	Link  string `json:"link,omitempty"`
	Label Text   `json:"label,omitzero"`
}

// maxEndings bounds the endings of a survey.
const maxEndings = 20

func (c *checker) endings(d *Definition) {
	c.length("endings", len(d.Endings), maxEndings)
	for i, e := range d.Endings {
		at := strictjson.Element("endings", i)
		c.filter(strictjson.Member(at, "when"), e.When, d.unasked)
		c.words(strictjson.Member(at, "text"), e.Text, maxProse, lineBreaks)
		if len(e.Text) == 0 {
			c.add(strictjson.Member(at, "text"), "is missing")
		}
		c.words(strictjson.Member(at, "label"), e.Label, maxLine, "")
		c.characters(strictjson.Member(at, "link"), e.Link, maxLine, "")
		if u, err := url.Parse(e.Link); e.Link != "" && (err != nil || u.Scheme != "https" || u.Host == "") {
			c.add(strictjson.Member(at, "link"), "is not an https address")
		}
	}
}

// Ending is what answers, as they were taken, lead to; nil: nothing but Thanks.
func (d *Definition) Ending(answers json.RawMessage) *Ending {
	values := map[string]any{}
	dec := json.NewDecoder(bytes.NewReader(answers))
	dec.UseNumber()
	if dec.Decode(&values) != nil {
		return nil
	}
	for i := range d.Endings {
		if e := &d.Endings[i]; e.When.Match(values) {
			return e
		}
	}
	return nil
}
