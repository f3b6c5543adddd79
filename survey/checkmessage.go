package survey

import (
	"errors"
	htmltemplate "html/template"
	"maps"
	"slices"
	"strconv"
	"text/template"

	"github.com/belfry-go/belfry/internal/strictjson"
)

func (c *checker) messages(messages []MessageText) {
	c.length("messages", len(messages), maxReminders+1)
	ordinals := c.once()
	for i, m := range messages {
		at := strictjson.Element("messages", i)
		if m.Ordinal < 0 || m.Ordinal > maxReminders {
			c.add(strictjson.Member(at, "ordinal"), "is not from 0 to %d", maxReminders)
		}
		ordinals.say(strictjson.Member(at, "ordinal"), strconv.Itoa(m.Ordinal))
		c.template(at, "subject", m.Subject, maxLine, "", parseText, sampleText)
		c.template(at, "text", m.Text, maxProse, lineBreaks, parseText, sampleText)
		c.template(at, "html", m.HTML, maxHTML, lineBreaks, parseHTML, sampleHTML)
	}
}

// maxHTML bounds an HTML template in characters.
const maxHTML = 100_000

// template checks a member of a message whose locales are templates.
func (c *checker) template(at, name string, t Text, limit int, allowed string, parse func(name, text string) error, sample func(name, text string) (string, error)) {
	path := strictjson.Member(at, name)
	c.text(path, t, limit, allowed)
	for _, locale := range slices.Sorted(maps.Keys(t)) {
		if err := parse(name, t[locale]); err != nil {
			c.add(t.path(path, locale), "is no template: %v", err)
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
