package survey_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/survey"
	"github.com/belfry-go/belfry/survey/form"
)

// eachDefinition runs a test on every case.
func eachDefinition(t *testing.T, test func(t *testing.T, c definitionCase)) {
	all := maps.Clone(definitionCases)
	maps.Copy(all, triggerCases)
	for name, c := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, c)
		})
	}
}

// faultsOf are the faults that an error lists.
func faultsOf(t testing.TB, err error) []string {
	t.Helper()
	if err == nil {
		return nil
	}
	var listed *form.DefinitionError
	if !errors.As(err, &listed) {
		t.Fatal(err)
	}
	return faultTexts(listed.Faults)
}

func faultTexts(faults []form.Fault) (out []string) {
	for _, f := range faults {
		out = append(out, f.String())
	}
	return out
}

//spec:t-010
func TestEverythingThatIsWrongIsReportedAtOnce(t *testing.T) {
	t.Parallel()
	eachDefinition(t, func(t *testing.T, c definitionCase) {
		_, err := form.Validate(json.RawMessage(c.definition))
		if diff := cmp.Diff(c.faults, faultsOf(t, err)); diff != "" {
			t.Errorf("%.300s (-want +got):\n%s", c.definition, diff)
		}
	})
}

func TestAnErrorShowsTheFirstFaults(t *testing.T) {
	t.Parallel()
	_, err := form.Validate(json.RawMessage(questionsJSON(times(12, func(int) string { return `{"id": "q", "type": "date"}` })...)))
	got := err.Error()
	if !strings.HasPrefix(got, "survey: definition: questions[1].id: is the same as questions[0].id; ") || !strings.HasSuffix(got, "questions[10].id: is the same as questions[0].id; and 1 more") {
		t.Error(got)
	}
}

//spec:t-010 t-019 t-031
func TestWarnings(t *testing.T) {
	t.Parallel()
	const nobody = "triggers: has none that is enabled: no event produces an instance"
	const shared = "has the eventKind and the dedupRecipe of triggers[0]: one event produces an instance for each of them"
	for definition, want := range map[string][]string{
		csiGR:                           nil,
		`{}`:                            {nobody},
		triggerJSON(`"enabled": false`): {nobody},
		triggersJSON(oneTrigger(``), oneTrigger(`"id": "u"`)):                      {"triggers[1]: " + shared},
		triggersJSON(oneTrigger(``), oneTrigger(`"id": "u", "eventKind": "sale"`)): nil,
		`{"questions": [` + askJSON + `, {"id": "n", "type": "choice", "options": [{"value": "1"}, {"value": "2"}]}, {"id": "m", "type": "multiple", "options": [{"value": "a"}]},
			{"id": "x", "type": "date", "when": {"all": [{"questionId": "ask", "op": "==", "value": "Yes"}, {"questionId": "ask", "op": "!=", "value": "no"}, {"questionId": "n", "op": "in", "value": [1, "2", "3"]},
				{"questionId": "m", "op": "==", "value": "a"}, {"questionId": "m", "op": "contains", "value": "b"}, {"questionId": "m", "op": "contains", "value": "a"}, {"questionId": "n", "op": "exists"}]}}],
			"triggers": [` + oneTrigger(`"subscribers": [{"key": "k"}, {"key": "s", "filter": {"not": {"questionId": "ask", "op": "in", "value": [true]}}}]`) + `]}`: {
			`questions[3].when.all[0].value: is no answer to ask: ["yes" "no"] are`, `questions[3].when.all[2].value[2]: is no answer to n: ["1" "2"] are`,
			"questions[3].when.all[3].op: compares a list of options, which equals nothing; contains looks into it", `questions[3].when.all[4].value: is no answer to m: ["a"] are`,
			`triggers[0].subscribers[1].filter.not.value[0]: is no answer to ask: ["yes" "no"] are`,
		},
		`{"triggers": [` + oneTrigger(``) + `], "messages": [{"ordinal": 0, "subject": "Hello", "text": {"en": "{{if .Value \"x\"}}{{.URL}}{{end}}", "ar": "a"}, "html": "<p>"}, {"ordinal": 1, "text": "b", "html": "<a href='{{.URL}}'>a</a>"}]}`: {
			"messages[0].text.ar: has no {{.URL}}: customers get no link", "messages[0].html: has no {{.URL}}: customers get no link", "messages[1].text: has no {{.URL}}: customers get no link",
		},
		triggersJSON(oneTrigger(``), oneTrigger(`"id": "u", "dedupRecipe": ["candidate.wip", "templateId", "recipient.address"]`)): {"triggers[1]: " + shared},
		triggersJSON(oneTrigger(``), oneTrigger(`"id": "u", "dedupRecipe": ["templateId", "recipient.address", "candidate.vin"]`)): nil,
		triggerJSON(`"filter": {"any": [{"questionId": "candidate.jobtype", "op": "==", "value": "GR"}, {"questionId": "candidate.wip", "op": "exists"}, {"not": {"questionId": "candidate.WIP", "op": "exists"}}]},
			"dedupRecipe": ["templateId", "recipient.address", "candidate.wip", "candidate.jobType"]`): {
			"triggers[0].filter.any[0].questionId: differs from candidate.jobType in case only: no event has both", "triggers[0].filter.any[2].not.questionId: differs from candidate.wip in case only: no event has both",
		},
		triggerJSON(`"dedupRecipe": ["candidate.wip"]`):                   {"triggers[0].dedupRecipe: lacks templateId, which every recipe should have", "triggers[0].dedupRecipe: lacks recipient.address, which every recipe should have"},
		triggerJSON(`"dedupRecipe": ["templateId", "recipient.address"]`): {"triggers[0].dedupRecipe: has nothing that identifies the event: a recipient is asked once and never again"},
	} {
		warnings, err := form.Validate(json.RawMessage(definition))
		if diff := cmp.Diff(want, faultTexts(warnings)); diff != "" || err != nil {
			t.Error(err, definition, diff)
		}
	}
}

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

// What is asked follows from the answers before it, and from no answer that is wrong
// or that nobody was asked for.
func TestWhatIsAskedFollowsFromTheAnswersBefore(t *testing.T) {
	t.Parallel()
	var d form.Definition
	if err := json.Unmarshal([]byte(`{"questions": [
		{"id": "late", "type": "text", "when": {"questionId": "rate", "op": "exists"}},
		{"id": "rate", "type": "rating"},
		{"id": "why", "type": "choice", "options": [{"value": "slow"}, {"value": "dear"}], "when": {"questionId": "rate", "op": "<", "value": 3}},
		{"id": "how-slow", "type": "number", "when": {"questionId": "why", "op": "==", "value": "slow"}}
	], "triggers": []}`), &d); err != nil {
		t.Fatal(err)
	}
	for answers, want := range map[string][]string{
		``:                                    {"rate"},
		`{}`:                                  {"rate"},
		`{"rate": 5}`:                         {"rate"},
		`{"rate": "2"}`:                       {"rate", "why"},
		`{"rate": 2.5, "why": "slow"}`:        {"rate"},
		`{"rate": 2, "why": "slow"}`:          {"rate", "why", "how-slow"},
		`{"rate": 2, "why": "far"}`:           {"rate", "why"},
		`{"rate": 4, "why": "slow"}`:          {"rate"},
		`{"rate": 9, "late": "x"}`:            {"rate"},
		`[1]`:                                 {"rate"},
		`{"rate": 1, "why": "dear", "x": {}}`: {"rate", "why"},
	} {
		if diff := cmp.Diff(want, d.Asked(json.RawMessage(answers))); diff != "" {
			t.Errorf("%s: %s", answers, diff)
		}
	}
}

// A page of a host's own asks for more where an answer calls for it.
func ExampleDefinition_Asked() {
	var d form.Definition
	if err := json.Unmarshal([]byte(`{"questions": [
		{"id": "has-a-complaint", "type": "yesNo"},
		{"id": "complaint", "type": "longText", "when": {"questionId": "has-a-complaint", "op": "==", "value": "yes"}}
	], "triggers": []}`), &d); err != nil {
		panic(err)
	}
	fmt.Println(d.Asked(nil))
	fmt.Println(d.Asked(json.RawMessage(`{"has-a-complaint": "yes"}`)))
	// Output:
	// [has-a-complaint]
	// [has-a-complaint complaint]
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
		"a part of a value":    {templated, survey.ReasonRenderFailed, `executing \"text\" at <slice (.Value \"name\") 50>`, survey.Options{}},
		"a value in the error": {ranged, survey.ReasonRenderFailed, `at <\"name\">"`, survey.Options{}},
		"a renderer":           {csiGR, survey.ReasonRenderFailed, "type=*errors.errorString", survey.Options{Renderer: fails(errors.New(customer))}},
		"a renderer's code":    {csiGR, survey.ReasonRenderFailed, "type=*errors.errorString code=NoText", survey.Options{Renderer: fails(notify.Transient("NoText", 0, errors.New(customer)))}},
		"a key that is gone":   {csiGR, survey.ReasonLink, survey.ErrLinkKey.Error(), survey.Options{LinkKey: key}},
	} {
		t.Run(name, func(t *testing.T) {
			inMemory(t, nil, func(h *host) {
				var log buffer
				c.opts.Logger = slog.New(slog.NewTextHandler(&log, nil))
				h.use(c.opts, h.memory())
				h.publish(csiGR)
				h.rewrite(4523, c.definition) // Publish refuses one of them, which others may have stored
				id := h.ingest(strings.Replace(visit, `"wip"`, `"name":"planted-name","wip"`, 1)).Items[0].Instances[0].PublicID
				if c.reason == survey.ReasonLink {
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
