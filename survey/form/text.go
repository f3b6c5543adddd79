package form

import (
	"bytes"
	"encoding/json"
	"github.com/belfry-go/belfry/internal/strictjson"
	"golang.org/x/text/language"
	"maps"
	"slices"
)

// Text is a text by locale (BCP 47), such as {"en": "How was it?", "ar": "…"}. The
// empty locale is that of everybody for whom there is nothing nearer; in JSON a plain
// string is a text with that locale only. Nil: no text.
type Text map[string]string

// For is the text for people of a locale; see [Text.Locale] for which that is. It is
// empty if there is none at all.
func (t Text) For(locale string) string { return t[t.Locale(locale)] }

// Locale is the locale of t that is nearest to the one given: itself, else its
// parents by BCP 47 (pt-BR, then pt; zh-TW, then zh-Hant), else the empty one, else
// English, else the first in alphabetical order, so that there is always a text. The
// texts of messages are found in the same way. How a locale is
// written makes no difference (AR_iq is ar-IQ), and one that is none is passed over.
func (t Text) Locale(locale string) string {
	if _, ok := t[locale]; ok {
		return locale
	}
	tag, err := language.Parse(locale)
	for ; err == nil && tag != language.Und; tag = tag.Parent() {
		if _, ok := t[tag.String()]; ok {
			return tag.String()
		}
	}
	if _, ok := t[""]; ok || len(t) == 0 {
		return ""
	}
	if _, ok := t["en"]; ok {
		return "en"
	}
	return slices.Min(slices.Collect(maps.Keys(t)))
}

// UnmarshalJSON reads a plain string, or an object of strings by locale.
func (t *Text) UnmarshalJSON(text []byte) error {
	if text = bytes.TrimSpace(text); len(text) > 0 && text[0] == '"' {
		var everybody string
		if err := json.Unmarshal(text, &everybody); err != nil {
			return err
		}
		*t = Text{"": everybody}
		return nil
	}
	var members map[string]any
	if err := json.Unmarshal(text, &members); err != nil || members == nil {
		return strictjson.Faults{{Problem: "is neither a text nor an object of texts by locale"}}.Err()
	}
	read := Text{}
	var faults strictjson.Faults
	for _, locale := range slices.Sorted(maps.Keys(members)) {
		one, ok := members[locale].(string)
		if !ok {
			faults.Add(strictjson.Member("", locale), "is not a text")
		}
		read[locale] = one
	}
	if err := faults.Err(); err != nil {
		return err
	}
	*t = read
	return nil
}

// MarshalJSON writes a text for everybody as a string, and any other as an object.
func (t Text) MarshalJSON() ([]byte, error) {
	if everybody, ok := t[""]; ok && len(t) == 1 {
		return json.Marshal(everybody)
	}
	return json.Marshal(map[string]string(t))
}

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
		c.add(path, "is for %.40q, which is not a BCP 47 language tag", locale)
	case tag.String() != locale:
		c.add(path, "is for a locale that is written %s", tag)
	}
}
