package surveyhttp_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/belfry-go/belfry/survey"
	"github.com/belfry-go/belfry/survey/surveyhttp"
)

// garage is a survey with all that a form can say.
const garage = `{
	"title": {"en": "Your visit to {{.Value \"city\"}} on {{.TriggeredOn.Format \"2 January\"}}", "de": "Ihr Besuch in {{.Value \"city\"}}"},
	"questions": [
		{"id": "rate", "type": "rating", "label": {"en": "How was it?", "de": "Wie war es?"}, "low": {"en": "Bad", "de": "Schlecht"}, "high": {"en": "Good", "de": "Gut"}},
		{"id": "nps", "type": "nps", "label": {"en": "Would you recommend us?", "de": "Würden Sie uns empfehlen?"}},
		{"id": "name", "type": "text", "prefill": "candidate.name", "label": {"en": "Name", "de": "Name"}},
		{"id": "why", "type": "text", "label": {"en": "Why?", "de": "Warum?"}, "when": {"questionId": "name", "op": "exists"}},
		{"id": "extras", "type": "multiple", "label": {"en": "What else?", "de": "Was noch?"}, "options": [{"value": "tea"}, {"value": "none", "exclusive": true}]}
	],
	"endings": [{"when": {"questionId": "nps", "op": ">=", "value": 9}, "text": {"en": "Tell others in {{.Value \"city\"}}.", "de": "Sagen Sie es weiter."},
		"link": "https://reviews.example/garage", "label": {"en": "Write a review", "de": "Bewerten"}}],
	"triggers": [{"id": "t", "enabled": true, "eventKind": "service-visit-closed", "dedupRecipe": ["templateId", "recipient.address", "candidate.wip"],
		"schedule": {"initialDelay": "0d"}, "channel": "memory:default"}]
}`

// drive gives the token of a link to that survey.
func (h *host) drive(locale string) string {
	h.Helper()
	h.publish(garage)
	report, err := h.survey.Ingest(h.Context(), survey.Batch{Scope: "tenant", EventKind: "service-visit-closed", Items: []survey.Item{{
		Payload:   json.RawMessage(`{"wip":"1","city":"<Cork>","name":"Ann \"A\""}`),
		Recipient: survey.Recipient{Address: "+964 770 000 0001", Locale: locale, CustomerRef: "cust-123"},
	}}})
	if err != nil || report.Created != 1 {
		h.Fatal(report, err)
	}
	h.publicID = report.Items[0].Instances[0].PublicID
	h.drain()
	return tokenIn.FindStringSubmatch(h.texts[len(h.texts)-1])[1]
}

// says fails unless a page says all of it.
func (h *host) says(page string, want ...string) {
	h.Helper()
	for _, text := range want {
		if !strings.Contains(page, text) {
			h.Errorf("no %s in\n%s", text, page)
		}
	}
}

// A form knows the visit that it is about, says what its scales mean, begins with what is
// known, can be read in another language, and leads on where the answers say so.
func TestAFormKnowsItsVisit(t *testing.T) {
	eachHost(t, func(h *host) {
		token := h.drive("en")
		h.forms = surveyhttp.Forms(h.survey, &surveyhttp.FormOptions{Logo: "/logo.svg", LogoText: "The garage", Privacy: "/privacy"})
		_, page := h.get("/s/" + token)
		h.says(page, "<h1 dir=\"auto\">Your visit to &lt;Cork&gt; on 14 May</h1>", `id="q1-ends"><span dir="auto" data-step="1">Bad</span> <span dir="auto" data-step="5">Good</span>`, `aria-describedby="q1-ends"`,
			"Not at all likely", `value="Ann &#34;A&#34;"`, `<img src="/logo.svg" alt="The garage">`, `<a href="/privacy" rel="noreferrer">Privacy</a>`,
			`<a href="?lang=de" lang="de" hreflang="de" dir="ltr">Deutsch</a>`, "data-alone")
		if strings.Contains(page, `data-when="{&#34;questionId&#34;:&#34;name&#34;,&#34;op&#34;:&#34;exists&#34;}" hidden`) {
			h.Error("what follows from what is known is hidden")
		}
		_, german := h.get("/s/" + token + "?lang=de")
		h.says(german, `<html lang="de"`, "Ihr Besuch in", "Schlecht", "/responses?lang=de", `<a href="?lang=en" lang="en"`)
		_, other := h.get("/s/" + token + "?lang=fr")
		h.says(other, `<html lang="en"`)
		_, clicked := h.get("/s/" + token + "?q.rate=4&q.name=planted&q.nps=99")
		h.says(clicked, `name="q.rate" value="4" checked`)
		if strings.Contains(clicked, "planted") || h.instance().Status != survey.StatusSent {
			h.Error("a link fills in a text, or a GET changed something")
		}
		status, wrong := h.form(token, "q.nps=9&q.extras=tea&q.extras=none")
		if status != http.StatusUnprocessableEntity {
			h.Fatal(status, wrong)
		}
		h.says(wrong, "cannot be combined")
		done := call(h, h.forms, "POST", "/SurveyInstances/"+token+"/responses?lang=de", "q.nps=9&q.name=x&shown=why&q.extras=none", "Content-Type", "application/x-www-form-urlencoded")
		if at := done.Header.Get("Location"); done.Status != http.StatusSeeOther || at != "../../s/"+token+"?sent&lang=de" {
			h.Fatal(done.Status, at, done.Body)
		}
		_, thanks := h.get("/s/" + token + "?sent")
		h.says(thanks, "Tell others in &lt;Cork&gt;.", `<a href="https://reviews.example/garage" rel="noreferrer" dir="auto">Write a review</a>`)
		_, danke := h.get("/s/" + token + "?sent&lang=de")
		h.says(danke, "Sagen Sie es weiter.", "Bewerten")
	})
}

// A hint says how many options are taken.
func TestAHintSaysHowManyAreChosen(t *testing.T) {
	t.Parallel()
	for bounds, want := range map[string]string{
		"": "Choose all that apply.", `"max": 3,`: "Choose all that apply.", `"max": 2,`: "Choose at most 2.", `"min": 1,`: "Choose at least 1.", `"min": 0,`: "Choose all that apply.",
		`"min": 1, "max": 2,`: "Choose at least 1. Choose at most 2.",
	} {
		h := onMemory(t, asks(`{"id": "m", "type": "multiple", `+bounds+` "options": [{"value": "a"}, {"value": "b"}, {"value": "c"}]}`))
		_, page := h.get("/s/" + h.visitOf(`{"wip": "1"}`, survey.Recipient{Address: "a", Locale: "en"}))
		h.says(page, `id="q1-hint">`+want+"</p>")
	}
}

// asks is a survey with these questions.
func asks(questions string) string {
	return `{"questions": [` + questions + `], "triggers": [{"id": "t", "enabled": true, "eventKind": "service-visit-closed", "dedupRecipe": ["templateId", "candidate.wip"], "schedule": {"initialDelay": "0d"}, "channel": "memory:default"}]}`
}

// The form begins with what is an answer, and with nothing else: neither a value of the event
// nor one that was clicked.
func TestAFormBeginsWithAnswersOnly(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ question, value, want string }{
		{`"type": "number", "max": 10`, `50`, ""}, {`"type": "number", "max": 10`, `"7.5"`, "7.5"}, {`"type": "number"`, `"many"`, ""}, {`"type": "number"`, `"1,5"`, ""},
		{`"type": "rating", "max": 50`, `51`, ""}, {`"type": "rating", "max": 50`, `50`, "50"}, {`"type": "rating", "max": 50`, `2.5`, ""},
		{`"type": "text", "maxLength": 3`, `"four"`, ""}, {`"type": "text"`, `"Sam"`, "Sam"}, {`"type": "date"`, `"14.5.2026"`, ""}, {`"type": "date"`, `"2026-05-14"`, "2026-05-14"},
	} {
		h := onMemory(t, asks(`{"id": "q", `+c.question+`, "prefill": "candidate.v"}`))
		token := h.visitOf(`{"wip": "1", "v": `+c.value+`}`, survey.Recipient{Address: "a", Locale: "en"})
		_, page := h.get("/s/" + token)
		h.says(page, `id="q1" name="q.q" value="`+c.want+`"`)
	}
	h := onMemory(t, asks(`{"id": "q", "type": "rating", "max": 50}`))
	token := h.visitOf(`{"wip": "1"}`, survey.Recipient{Address: "a", Locale: "en"})
	if _, page := h.get("/s/" + token + "?q.q=99"); !strings.Contains(page, `name="q.q" value=""`) {
		t.Errorf("what was clicked is not an answer:\n%s", shown(page))
	}
	_, page := h.get("/s/" + token + "?q.q=49")
	h.says(page, `name="q.q" value="49"`)
	h = onMemory(t, asks(`{"id": "q", "type": "text"}`))
	token = h.visitOf(`{"wip": "1"}`, survey.Recipient{Address: "a", Locale: "en"})
	_, page = h.get("/s/" + token + "?q.q=typed+by+nobody")
	h.says(page, `name="q.q" value=""`)
}
