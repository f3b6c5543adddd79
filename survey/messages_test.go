package survey_test

import (
	"strings"
	"testing"
	"time"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/survey"
	"github.com/belfry-go/belfry/survey/form"
)

// The texts that come with the package speak the customer's language, from right
// to left where it is written so.
//
//spec:t-064
func TestTheDefaultTextsAreInTheCustomersLanguage(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.linked(csiGR) // in Arabic
		h.at(0)
		h.at(day)
		sent := h.sent()
		first, second := sent[0], sent[1]
		if first.Subject != "كيف كانت تجربتك؟ E2E CSI-GR" || second.Subject != "تذكير: E2E CSI-GR" {
			h.t.Errorf("subjects %q and %q", first.Subject, second.Subject)
		}
		for _, m := range sent {
			link := linkIn(m)
			if !strings.Contains(m.Text, link) || !strings.Contains(m.HTML, `<html lang="ar" dir="rtl">`) || m.Locale != "ar" {
				h.t.Errorf("text %q, HTML %q", m.Text, m.HTML)
			}
			if !strings.Contains(m.HTML, strings.ReplaceAll(link, "&", "&amp;")) || !strings.HasPrefix(link, "https://host.example/s/") {
				h.t.Errorf("link %q in %q", link, m.HTML)
			}
		}
		if linkIn(first) != linkIn(second) || first.ID == second.ID {
			h.t.Errorf("links %q and %q, ids %q and %q", linkIn(first), linkIn(second), first.ID, second.ID)
		}
	})
}

// own are messages of a definition: an initial text, and one from the second
// reminder on.
const own = `"messages": [
	{"ordinal": 0, "subject": {"en": "Hello {{.Value \"CustomerName\"}}", "ar": "مرحبا"}, "text": {"en": "{{.URL}} {{.Ordinal}} {{.Attempt}} {{.Value \"jobType\"}}"}, "html": {"en": "<p>{{.Value \"CustomerName\"}}</p>"}},
	{"ordinal": 2, "subject": {"en": "Last call"}, "text": {"en": "{{.URL}}"}}
],`

// The definition's own texts take the place of the shipped ones; a reminder without
// one has that of the send before.
//
//spec:t-064
func TestADefinitionHasItsOwnTexts(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.publish(strings.Replace(definition("0d", []string{"1d", "1d", "1d"}), `"questions"`, own+` "questions"`, 1))
		visit := `{"wip":"1","jobType":"GR","CustomerName":"Bo\r\nBcc: <x>"}`
		if _, err := h.survey.Ingest(h.t.Context(), survey.Batch{EventKind: "service-visit-closed", Items: []survey.Item{{
			Payload: []byte(visit), Recipient: survey.Recipient{Address: "bo", Locale: "en-GB"},
		}}}); err != nil {
			h.t.Fatal(err)
		}
		for n := range 4 {
			h.clock.Set(start.Add(time.Duration(n) * day))
			h.drain()
		}
		sent := h.sent()
		if len(sent) != 4 {
			h.t.Fatalf("%d sends", len(sent))
		}
		link := linkIn(sent[0])
		for n, want := range []notify.Message{
			{Subject: "Hello Bo Bcc: <x>", Text: link + " 0 1 GR", HTML: "<p>Bo\r\nBcc: &lt;x&gt;</p>"},
			{Subject: "Hello Bo Bcc: <x>", Text: link + " 1 2 GR", HTML: "<p>Bo\r\nBcc: &lt;x&gt;</p>"},
			{Subject: "Last call", Text: link},
			{Subject: "Last call", Text: link},
		} {
			if m := sent[n]; m.Subject != want.Subject || m.Text != want.Text || m.HTML != want.HTML {
				h.t.Errorf("send %d is %q, %q, %q", n, m.Subject, m.Text, m.HTML)
			}
		}
	})
}

// A mail has the language of its form, whichever way there leads from the customer's
// locale to a text.
func TestAMailHasTheLanguageOfItsForm(t *testing.T) {
	texts := form.Text{"ar": "ar", "en": "en", "zh-Hant": "zh-Hant", "pt": "pt"}
	for _, locale := range []string{"zh-TW", "pt_BR", "en-GB", "ar-IQ", "fr", "no locale", ""} {
		t.Run(locale, func(t *testing.T) {
			inMemory(t, nil, func(h *host) {
				h.publish(strings.Replace(definition("0d", nil), `"questions"`, `"messages": [{"ordinal": 0, "subject": "{{.Lang}}",
					"text": {"ar": "ar {{.URL}}", "en": "en {{.URL}}", "zh-Hant": "zh-Hant {{.URL}}", "pt": "pt {{.URL}}"},
					"html": {"ar": "ar {{.URL}}", "en": "en {{.URL}}", "zh-Hant": "zh-Hant {{.URL}}", "pt": "pt {{.URL}}"}}], "questions"`, 1))
				if _, err := h.survey.Ingest(h.t.Context(), survey.Batch{EventKind: "service-visit-closed", Items: []survey.Item{{
					Payload: []byte(visit), Recipient: survey.Recipient{Address: "bo", Locale: locale},
				}}}); err != nil {
					h.t.Fatal(err)
				}
				h.drain()
				want, m := texts.For(locale), h.sent()[0]
				if text, _, _ := strings.Cut(m.Text, " "); text != want || m.Subject != want || !strings.HasPrefix(m.HTML, want+" ") {
					h.t.Errorf("%q and %q in %q, not %q", m.Text, m.HTML, m.Subject, want)
				}
			})
		})
	}
}

// A host's renderer takes the place of all texts, and knows what the send is.
func TestAHostHasItsOwnRenderer(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		var seen form.LinkData
		h.use(survey.Options{Renderer: rendererFunc(func(d form.LinkData) (form.Parts, error) {
			seen = d
			return form.Parts{Template: notify.ProviderTemplate{Name: "visit", Params: []string{d.URL}}}, nil
		})}, h.memory())
		id := h.linked(csiGR)
		h.at(0)
		h.at(day)
		m := h.sent()[1]
		if m.Template.Name != "visit" || m.Template.Params[0] != linkIn(m) || m.Text != "" {
			h.t.Errorf("sent %+v", m)
		}
		if seen.Ordinal != 1 || seen.Attempt != 2 || seen.PublicID != id || seen.Survey != "E2E CSI-GR" || seen.Locale != "ar" || seen.Value("VIN") != "JTMABBBJ2N4024400" {
			h.t.Errorf("rendered %+v", seen)
		}
		want := map[string]string{"publicId": id, "ordinal": "1", "surveyId": "4523", "surveyVersion": "1", "triggerId": "csi-gr-trigger", "customerRef": "cust-123"}
		for name, value := range want {
			if m.Metadata[name] != value {
				h.t.Errorf("metadata %s is %q, want %q", name, m.Metadata[name], value)
			}
		}
	})
}
