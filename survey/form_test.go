package survey_test

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/survey"
	"github.com/belfry-go/belfry/survey/form"
)

// The texts that come with the package speak the customer's language, from right
// to left where it is written so.
func TestTheDefaultTextsAreInTheCustomersLanguage(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.linked(strings.Replace(csiGR, "{", `{"title": {"en": "Your visit", "ar": "زيارتك"}, `, 1)) // in Arabic
		h.at(0)
		h.at(day)
		sent := h.sent()
		first, second := sent[0], sent[1]
		if first.Subject != "كيف كانت تجربتك؟ زيارتك" || second.Subject != "تذكير: زيارتك" {
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
		for n, want := range []channel.Message{
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
			return form.Parts{Template: channel.ProviderTemplate{Name: "visit", Params: []string{d.URL}}}, nil
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

// Support reads in the log why there is no message: where a text fails, or of what
// kind the error of a host's renderer is; and nothing of the customer.
func TestTheLogSaysWhyThereIsNoMessage(t *testing.T) {
	const customer = "planted-name"
	templated := strings.Replace(csiGR, `"questions"`, `"messages": [{"ordinal": 0, "text": "{{.URL}} {{if ne (.Value \"name\") \"\"}}{{slice (.Value \"name\") 50}}{{end}}"}], "questions"`, 1)
	ranged := strings.Replace(csiGR, `"questions"`, `"messages": [{"ordinal": 0, "text": "{{.URL}} {{if eq (.Value \"name\") \"planted-name\"}}{{range $.Value \"name\"}}{{end}}{{end}}"}], "questions"`, 1)
	fails := func(err error) survey.Renderer {
		return rendererFunc(func(form.LinkData) (form.Parts, error) { return form.Parts{}, err })
	}
	key := []byte(strings.Repeat("k", 32))
	for name, c := range map[string]struct {
		definition, reason, says string
		opts                     survey.Options
	}{
		"a part of a value":    {templated, reasons.RenderFailed, `executing \"text\" at <slice (.Value \"name\") 50>`, survey.Options{}},
		"a value in the error": {ranged, reasons.RenderFailed, `at <\"name\">"`, survey.Options{}},
		"a renderer":           {csiGR, reasons.RenderFailed, "type=*errors.errorString", survey.Options{Renderer: fails(errors.New(customer))}},
		"a renderer's code":    {csiGR, reasons.RenderFailed, "type=*errors.errorString code=NoText", survey.Options{Renderer: fails(channel.Transient("NoText", 0, errors.New(customer)))}},
		"a key that is gone":   {csiGR, reasons.LinkFailed, survey.ErrLinkKey.Error(), survey.Options{LinkKey: key}},
	} {
		t.Run(name, func(t *testing.T) {
			inMemory(t, nil, func(h *host) {
				var log buffer
				c.opts.Logger = slog.New(slog.NewTextHandler(&log, nil))
				h.use(c.opts, h.memory())
				h.publish(csiGR)
				h.rewrite(4523, c.definition) // Publish refuses one of them, which others may have stored
				id := h.ingest(strings.Replace(visit, `"wip"`, `"name":"planted-name","wip"`, 1)).Items[0].Instances[0].PublicID
				if c.reason == reasons.LinkFailed {
					h.use(survey.Options{Logger: c.opts.Logger}, h.memory())
				}
				h.drain()
				if i := h.status(id, survey.StatusPending); i.ReasonCode != c.reason {
					h.t.Error(i.ReasonCode)
				}
				text := log.text.String()
				if !strings.Contains(text, c.says) || !strings.Contains(text, "instance="+id) || strings.Count(text, "\n") != 1 {
					h.t.Errorf("logged %s", text)
				}
				if strings.Contains(text, customer) || strings.Contains(text, "7700000001") || strings.Contains(text, "cust-123") {
					h.t.Errorf("of the customer: %s", text)
				}
			})
		})
	}
}

// templated are messages whose text the provider holds, in two languages.
const templated = `"messages": [{"ordinal": 0, "text": "{{.URL}}",
	"template": {"name": {"en": "csi_visit", "ar": "csi_visit_2"}, "params": ["{{.Value \"CustomerName\"}}", "{{.URL}}"]}}],`

// A channel of WhatsApp gets the template in the nearest language that it has, and others
// the text.
func TestAProviderTemplateIsForWhatsApp(t *testing.T) {
	t.Parallel()
	eachHost(t, nil, func(h *host) {
		wa := channel.Func("whatsapp:test", h.send)
		h.use(survey.Options{}, h.memory(), wa)
		for kind, want := range map[string]string{"memory:default": "", "whatsapp:test": "csi_visit_2"} {
			text := strings.Replace(strings.Replace(definition("0d", nil), `"questions"`, templated+` "questions"`, 1), "memory:default", kind, 1)
			h.publish(text)
			for _, locale := range []string{"ar-IQ", "fr"} {
				h.about(survey.Item{Payload: []byte(`{"wip": "` + kind + locale + `", "CustomerName": "Bo"}`), Recipient: survey.Recipient{Address: "+9647700000001", Locale: locale}})
				h.drain()
				sent := h.sent()
				m := sent[len(sent)-1]
				name, language := want, map[string]string{"ar-IQ": "ar", "fr": "en"}[locale]
				if locale == "fr" && want != "" {
					name = "csi_visit"
				}
				if want == "" {
					language = locale
				}
				if m.Template.Name != name || m.Locale != language || !strings.Contains(m.Text, linkIn(m)) {
					h.t.Errorf("%s to %s: %+v in %q, text %q", kind, locale, m.Template, m.Locale, m.Text)
				}
				if want != "" && (len(m.Template.Params) != 2 || m.Template.Params[0] != "Bo" || m.Template.Params[1] != linkIn(m)) {
					h.t.Errorf("params %q", m.Template.Params)
				}
			}
		}
	})
}
