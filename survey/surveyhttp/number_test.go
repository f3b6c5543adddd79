package surveyhttp_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"unicode"

	"github.com/belfry-go/belfry/survey"
)

// asksNumbers is a survey with a number and a scale that is too long for buttons.
const asksNumbers = `{"questions": [{"id": "n", "type": "number", "prefill": "candidate.cost"}, {"id": "r", "type": "rating", "min": 0, "max": 99}, {"id": "d", "type": "date"}, {"id": "most", "type": "number", "min": 0.5, "max": 99.5}],
	"triggers": [{"id": "t", "enabled": true, "eventKind": "service-visit-closed", "dedupRecipe": ["templateId", "candidate.wip"], "schedule": {"initialDelay": "0d"}, "channel": "memory:default"}]}`

func onMemory(t *testing.T, definition string) *host {
	t.Helper()
	h := memoryHost(t)
	h.publish(definition)
	return h
}

// A number is read as the language of the page writes it, in the digits of every script; one
// that could be two is asked for again.
func TestNumbersAreReadAsTheLanguageOfThePageWritesThem(t *testing.T) {
	t.Parallel()
	const unclear = "unclear"
	twice := map[string]string{"de-CH": "zwei Arten", "fr": "deux façons", "sv": "two ways"}
	for _, c := range []struct{ locale, typed, want string }{
		{"de", "1.000", "1000"}, {"de", "1.000,5", "1000.5"}, {"de", "1,5", "1.5"}, {"de", "1.5", "1.5"}, {"de", "1,234", "1.234"}, {"de", "1.000.000", "1000000"}, {"de", "1 000", "1000"}, {"de", "0.500", "0.5"},
		{"de-CH", "3.5", "3.5"}, {"de-CH", "1’000.5", "1000.5"}, {"de-CH", "1'000", "1000"}, {"de-CH", "1,000", unclear},
		{"fr", "1 000", "1000"}, {"fr", "1\u00a0000", "1000"}, {"fr", "1\u202f000,5", "1000.5"}, {"fr", "1\u2009000", "1000"}, {"fr", "1.000", unclear}, {"fr", "3.5", "3.5"},
		{"en", "1,000", "1000"}, {"en", "1.000", "1"}, {"en", "1,234.5", "1234.5"}, {"en", "1.234,5", "1234.5"}, {"en", "3,5", "3.5"}, {"en", " 7 ", "7"}, {"en", "+7", "7"}, {"en", "1e3", "1000"}, {"en", "1,00,000", "100000"},
		{"sv", "−5", "-5"}, {"sv", "–5", "-5"}, {"sv", "1.000", unclear}, {"hi", "12,34,567", "1234567"},
		{"ar", "٣٫٥", "3.5"}, {"ar", "٣,٥", "3.5"}, {"ar", "١٬٠٠٠", "1000"}, {"ar", "\u200f٧\u200f", "7"}, {"fa", "۳٫۵", "3.5"}, {"ja", "３．５", "3.5"}, {"ja", "１２", "12"},
		{"hi", "१२", "12"}, {"bn", "১২", "12"}, {"th", "๑๒", "12"}, {"my", "၁၂", "12"}, {"ne", "१२", "12"}, {"en", "𝟏𝟚", "12"},
		{"en", "1 2", ""}, {"en", "1,2,3", ""}, {"de", "1.00.000,1.1", ""}, {"en", "twelve", ""}, {"en", "-", ""}, {"en", "1..2", ""}, {"en", "①", ""},
	} {
		h := onMemory(t, asksNumbers)
		token := h.visitOf(`{"wip": "1"}`, survey.Recipient{Address: "a", Locale: c.locale})
		status, page := h.form(token, url.Values{"q.n": {c.typed}}.Encode())
		want := `{"n":` + c.want + `}`
		if c.want == unclear || c.want == "" {
			if want = ""; status != 422 || !strings.Contains(page, `value="`+c.typed+`"`) || c.want == unclear && !strings.Contains(page, twice[c.locale]) {
				t.Errorf("%s %q: %d\n%s", c.locale, c.typed, status, shown(page))
			}
		}
		if got := h.answers(); got != want {
			t.Errorf("%s %q: %d, stored %s, want %s", c.locale, c.typed, status, got, want)
		}
	}
}

// What the page fills in and names it takes back: a number is shown as it is read.
func TestNumbersAreShownAsTheyAreRead(t *testing.T) {
	t.Parallel()
	for locale, c := range map[string]struct{ value, most string }{"de": {"1,234", "99,5"}, "en": {"1.234", "99.5"}, "fr": {"1,234", "99,5"}} {
		h := onMemory(t, asksNumbers)
		token := h.visitOf(`{"wip": "1", "cost": 1.234}`, survey.Recipient{Address: "a", Locale: locale})
		if _, page := h.get("/s/" + token); !strings.Contains(page, `value="`+c.value+`"`) || !strings.Contains(page, c.most) {
			t.Errorf("%s: no %s in\n%s", locale, c.value, shown(page))
		}
		if h.form(token, url.Values{"q.n": {c.value}, "q.r": {"٤٢"}, "q.d": {"٢٠٢٦-٠٥-١٤"}}.Encode()); h.answers() != `{"d":"2026-05-14","n":1.234,"r":42}` {
			t.Errorf("%s: %s was stored", locale, h.answers())
		}
	}
}

// The digits of each script stand in tens.
func TestEveryDecimalDigitIsRead(t *testing.T) {
	t.Parallel()
	h := onMemory(t, asksNumbers)
	var all []rune
	for _, in := range unicode.Nd.R16 {
		for r := rune(in.Lo); r <= rune(in.Hi); r++ {
			all = append(all, r)
		}
	}
	for _, in := range unicode.Nd.R32 {
		for r := rune(in.Lo); r <= rune(in.Hi); r++ {
			all = append(all, r)
		}
	}
	for n := 0; n < len(all); n += 10 {
		token := h.visitOf(fmt.Sprintf(`{"wip": "%d"}`, n), survey.Recipient{Address: "a", Locale: "en"})
		h.form(token, url.Values{"q.n": {"1" + string(all[n:n+10])}}.Encode())
		if got := h.answers(); got != `{"n":10123456789}` {
			t.Errorf("%q: %s", string(all[n:n+10]), got)
		}
	}
}
