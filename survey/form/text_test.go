package form_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/survey/form"
)

func TestATextIsFoundByLocale(t *testing.T) {
	t.Parallel()
	greetings := form.Text{"": "hi", "en": "hello", "en-GB": "hullo", "pt": "olá", "zh-Hant": "您好", "ar": "مرحبا"}
	for locale, want := range map[string]string{
		"en": "en", "en-GB": "en-GB", "en-US": "en", "en-gb": "en-GB", "pt-BR": "pt", "pt_BR": "pt", "ar-IQ": "ar", "AR_iq": "ar",
		"zh-TW": "zh-Hant", "zh": "", "fr": "", "": "", "no locale": "", "en-GB-oxendict": "en-GB", "und": "",
	} {
		if got := greetings.Locale(locale); got != want {
			t.Errorf("%q: the text for %q", locale, got)
		}
		if got := greetings.For(locale); got != greetings[want] {
			t.Errorf("%q: %q", locale, got)
		}
	}
	if got := (form.Text{"ku": "slav", "ar": "مرحبا"}).For("fr"); got != "مرحبا" {
		t.Errorf("without a text for everybody: %q", got)
	}
	if got := (form.Text{"ar": "مرحبا", "en": "hello"}).Locale("fr"); got != "en" {
		t.Errorf("without a text for everybody, but with an English one: %q", got)
	}
	if got := (form.Text)(nil).For("en") + (form.Text{}).For(""); got != "" {
		t.Errorf("no text is %q", got)
	}
}

func TestATextInJSON(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]form.Text{
		`"<b> hi"`: {"": "<b> hi"}, `{"en":"hello"}`: {"en": "hello"}, `{"":"hi","en":"hello"}`: {"": "hi", "en": "hello"}, `{}`: {},
	} {
		var got form.Text
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Error(text, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(text, diff)
		}
		written, err := json.Marshal(got)
		again := form.Text{}
		if err == nil {
			err = json.Unmarshal(written, &again)
		}
		if diff := cmp.Diff(got, again); diff != "" || err != nil {
			t.Errorf("%s became %s, %v", text, written, err)
		}
	}
	for text, want := range map[string]string{
		`5`: "is neither a text nor an object of texts by locale", `["a"]`: "is neither a text nor an object of texts by locale",
		`{"en": 5, "ar": "a", "a b": []}`: `["a b"]: is not a text; en: is not a text`,
	} {
		got := form.Text{"x": "before"}
		if err := json.Unmarshal([]byte(text), &got); err == nil || err.Error() != want || got["x"] != "before" {
			t.Error(text, err, got)
		}
	}
}

// Mails and forms agree on the direction.
func TestADirectionIsThatOfTheScript(t *testing.T) {
	t.Parallel()
	for locale, want := range map[string]string{
		"ar": "rtl", "ar_EG": "rtl", "en": "ltr", "ku": "ltr", "ku-Arab": "rtl", "ku-Arab-IQ": "rtl", "ar-Latn": "ltr", "az-Cyrl": "ltr", "he": "rtl", "": "ltr",
	} {
		if got := form.Direction(locale); got != want {
			t.Errorf("%q: %s", locale, got)
		}
	}
	own := []form.MessageText{{Subject: form.Text{"": "s"}, Text: form.Text{"": "t"}, HTML: form.Text{"ku-Arab": `<p dir="{{.Dir}}">`, "en": `<p>`}}}
	if p, err := form.Render(own, form.LinkData{Locale: "ku-Arab", URL: "https://host.example/s/x"}); err != nil || p.HTML != `<p dir="rtl">` {
		t.Error(err, p.HTML)
	}
}
