package survey

import (
	"maps"
	"slices"

	"golang.org/x/text/language"

	"github.com/belfry-go/belfry/internal/strictjson"
)

// lineBreaks are the control characters of a text of several lines.
const lineBreaks = "\n\r\t"

// text checks a text in all its locales; nil is none.
func (c *checker) text(path string, t Text, limit int, allowed string) {
	if t == nil {
		return
	}
	if len(t) == 0 {
		c.add(path, "has no text in any locale")
	}
	c.length(path, len(t), maxLocales)
	for _, locale := range slices.Sorted(maps.Keys(t)) {
		at := t.path(path, locale)
		c.locale(at, locale)
		if t[locale] == "" {
			c.add(at, "is empty")
		}
		c.characters(at, t[locale], limit, allowed)
	}
}

// path is where the text for a locale is in the JSON.
func (t Text) path(path, locale string) string {
	if len(t) == 1 && locale == "" {
		return path // a plain string
	}
	return strictjson.Member(path, locale)
}

// locale checks that a locale is written in the way in which it is looked up.
func (c *checker) locale(path, locale string) {
	if locale == "" {
		return
	}
	tag, err := language.Parse(locale)
	switch {
	case err != nil:
		c.add(path, "is for %.40q, which is no BCP 47 language tag", locale)
	case tag.String() != locale:
		c.add(path, "is for a locale that is written %s", tag)
	}
}
