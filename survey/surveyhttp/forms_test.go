package surveyhttp_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/survey"
)

// good is a form that answers all that has to be answered.
const good = "q.rate=9&q.has-a-complaint=no&q.name=Sam"

func TestAFormIsShownAndAnswered(t *testing.T) {
	eachHost(t, func(h *host) {
		token := h.link("en-GB")
		status, page := h.get("/s/" + token)
		if status != 200 || !strings.Contains(page, `<html lang="en" dir="ltr">`) || !strings.Contains(page, `<h1 dir="auto">Your visit</h1>`) ||
			!strings.Contains(page, `action="../SurveyInstances/`+token+`/responses"`) {
			h.Error(status, page)
		}
		if status, page := h.form(token, good); status != 200 || !strings.Contains(page, "See you soon.") || strings.Contains(page, "<form") {
			h.Error(status, page)
		}
		if status, page := h.form(token, good); status != 200 || !strings.Contains(page, "See you soon.") {
			h.Error("the same answers again:", status, page)
		}
		if status, page := h.form(token, "q.rate=1&q.has-a-complaint=no"); status != 409 || !strings.Contains(page, "was not stored") {
			h.Error("other answers:", status, page)
		}
		if status, page := h.get("/s/" + token); status != 200 || !strings.Contains(page, "This survey has been answered") || strings.Contains(page, "<form") {
			h.Error("the link again:", status, page)
		}
		if diff := cmp.Diff(`{"has-a-complaint":"no","name":"Sam","rate":9}`, h.answers()); diff != "" {
			h.Error(diff)
		}
	})
}

// Every control's value comes where it should, as customers write it.
func TestAFormIsReadByTheTypesOfItsQuestions(t *testing.T) {
	eachHost(t, func(h *host) {
		token := h.link("ar")
		form := url.Values{
			"q.rate": {"١٠"}, "q.has-a-complaint": {"yes"}, "shown": {"complaint"}, "q.complaint": {"slow\r\nand loud"}, "q.hours": {"٣٫٥"},
			"q.name": {""}, "q.by": {"bus"}, "q.liked": {"price", "people"}, "q.next": {"2026-06-01"}, "q.unknown": {"?"},
		}
		if status, page := h.form(token, form.Encode()); status != 200 || !strings.Contains(page, `<html lang="ar" dir="rtl">`) || !strings.Contains(page, "نراك قريبًا.") {
			h.Error(status, page)
		}
		want := `{"by":"bus","complaint":"slow\nand loud","has-a-complaint":"yes","hours":3.5,"liked":["people","price"],"next":"2026-06-01","rate":10}`
		if diff := cmp.Diff(want, h.answers()); diff != "" {
			h.Error(diff)
		}
	})
}

// A faulty form comes back with its values, and says at each field and at the top
// what has to be changed.
func TestAFaultyFormComesBack(t *testing.T) {
	eachHost(t, func(h *host) {
		token := h.link("en")
		form := url.Values{
			"q.has-a-complaint": {"no"}, "q.hours": {"one & a <half>"}, "q.name": {strings.Repeat("n", 21)},
			"q.by": {"bus"}, "q.liked": {"people", "coffee", "price"}, "q.next": {"soon"},
		}
		status, page := h.form(token, form.Encode())
		if status != 422 || !strings.Contains(page, "<title>Error: Your visit</title>") || !strings.Contains(page, `action="responses"`) {
			h.Fatal(status, page)
		}
		for _, part := range []string{
			`<a href="#q1-1"><bdi>How was it?</bdi></a> Please answer this question.`,
			`<a href="#q4"><bdi>Hours you waited</bdi></a> Enter a number.`,
			`<a href="#q5"><bdi>Your name</bdi></a> Write at most 20 characters.`,
			`<a href="#q7-1"><bdi>What did you like?</bdi></a> Choose at most 2.`,
			`<a href="#q8"><bdi>Next visit</bdi></a> Enter a date.`,
			`value="one &amp; a &lt;half&gt;" autocomplete="off" aria-invalid="true" aria-describedby="q4-hint q4-fault"`,
			`value="` + strings.Repeat("n", 21) + `"`, `value="bus" checked`, `value="people" checked`, `value="price" checked`, `value="no" checked`,
			`<p class="fault" id="q1-fault"><span class="unseen">Error:</span> Please answer this question.</p>`,
		} {
			if !strings.Contains(page, part) {
				h.Errorf("no %s", part)
			}
		}
		if t.Failed() {
			h.Log(page)
		}
		if got := h.answers(); got != "" {
			h.Errorf("%s was stored", got)
		}
	})
}

// A survey whose form is kept elsewhere has none here, and one click does not answer it.
func TestASurveyWithoutQuestionsHasNoForm(t *testing.T) {
	eachHost(t, func(h *host) {
		h.publish(strings.Replace(plain, `"questions": [{"id": "rate", "type": "rating", "label": "Rate it", "required": true}],`, "", 1))
		token := h.visit("40956", "en")
		if status, page := h.get("/s/" + token); status != 404 || !strings.Contains(page, "There is no survey here") || strings.Contains(page, "<button") {
			h.Error(status, page)
		}
		if status, page := h.form(token, ""); status != 404 || h.instance().Status != survey.StatusSent {
			h.Error(status, page, h.instance().Status)
		}
		if _, err := h.survey.Complete(h.Context(), "tenant", h.publicID, survey.Response{Answers: []byte("{}")}); err != nil {
			h.Error(err)
		}
		if status, page := h.get("/s/" + token); status != 200 || !strings.Contains(page, "This survey has been answered") {
			h.Error(status, page)
		}
	})
}

// As much as the questions allow is taken, in any script.
func TestLongAnswersAreTaken(t *testing.T) {
	eachHost(t, func(h *host) {
		definition := strings.Replace(csiGR, `"questions": [`, `"questions": [`+strings.Join([]string{
			`{"id": "a", "type": "longText"}`, `{"id": "b", "type": "longText"}`, `{"id": "c", "type": "longText"}`,
			`{"id": "d", "type": "longText"}`, `{"id": "e", "type": "longText"}`, `{"id": "f", "type": "longText"}`, "",
		}, ","), 1)
		h.publish(definition)
		token := h.visit("40956", "ar")
		form := url.Values{"q.rate": {"9"}, "q.has-a-complaint": {"no"}}
		for _, id := range []string{"a", "b", "c", "d", "e", "f"} {
			form.Set("q."+id, strings.Repeat("ض", 4000))
		}
		if status, page := h.form(token, form.Encode()); status != 200 || !strings.Contains(page, "نراك قريبًا.") {
			h.Errorf("%d %.300s", status, page)
		}
		if n := len(h.answers()); n < 6*2*4000 {
			h.Errorf("%d bytes were stored", n)
		}
	})
}

// Without JavaScript a customer has not seen what follows from an answer: it is asked
// before anything is taken.
func TestWhatFollowsFromAnAnswerIsAskedWithoutJavaScript(t *testing.T) {
	eachHost(t, func(h *host) {
		token := h.link("en")
		if _, page := h.get("/s/" + token); !strings.Contains(page, `data-when="{&#34;questionId&#34;:&#34;has-a-complaint&#34;,&#34;op&#34;:&#34;==&#34;,&#34;value&#34;:&#34;yes&#34;}" hidden disabled>`) {
			h.Error("the question is not hidden:", page)
		}
		status, page := h.form(token, "q.rate=2&q.has-a-complaint=yes")
		if status != 200 || !strings.Contains(page, "A few more questions follow") || !strings.Contains(page, `<a href="#q3"><bdi>What went wrong?</bdi></a>`) ||
			strings.Contains(page, "hidden disabled") || !strings.Contains(page, `value="2" checked`) || h.answers() != "" {
			h.Error(status, page)
		}
		if status, page := h.form(token, "q.rate=2&q.has-a-complaint=yes&shown=complaint"); status != 422 || !strings.Contains(page, `<a href="#q3"><bdi>What went wrong?</bdi></a> Please answer`) {
			h.Error("left empty:", status, page)
		}
		if status, page := h.form(token, "q.rate=2&q.has-a-complaint=no&shown=complaint&q.complaint=nothing"); status != 200 || !strings.Contains(page, "See you soon") {
			h.Error("taken back:", status, page)
		}
		if got := h.answers(); got != `{"has-a-complaint":"no","rate":2}` {
			h.Error(got)
		}
	})
}

// Only the page's own word opens an instance, once, and never after the answers.
func TestThePageSaysThatItWasShown(t *testing.T) {
	eachHost(t, func(h *host) {
		token := h.link("en")
		for range 2 {
			if resp := call(h, h.forms, "POST", "/s/"+token+"/opened", ""); resp.Status != 204 {
				h.Error(resp.Status)
			}
			if got := h.instance(); got.Status != survey.StatusOpened || !got.OpenedOn.Equal(start) {
				h.Error(got.Status, got.OpenedOn)
			}
			h.clock.Add(1000)
		}
		h.form(token, good)
		if resp := call(h, h.forms, "POST", "/s/"+token+"/opened", ""); resp.Status != 204 || h.instance().Status != survey.StatusCompleted {
			h.Error(resp.Status, h.instance().Status)
		}
	})
}

// Mail scanners follow links, in any way that does not send something.
func TestAScannerChangesNothing(t *testing.T) {
	eachHost(t, func(h *host) {
		token := h.link("en")
		before := h.instance()
		for range 20 {
			for _, method := range []string{"GET", "HEAD", "OPTIONS", "PUT", "DELETE", "PATCH"} {
				for _, path := range []string{"/s/" + token, "/s/" + token + "/opened", "/SurveyInstances/" + token + "/responses", "/s/" + token + "?q.rate=9&q.has-a-complaint=no"} {
					call(h, h.forms, method, path, good, "Content-Type", "application/x-www-form-urlencoded")
				}
			}
		}
		if diff := cmp.Diff(before, h.instance()); diff != "" {
			h.Error(diff)
		}
		if resp := call(h, h.forms, "HEAD", "/s/"+token, ""); resp.Status != 200 {
			h.Error(resp.Status)
		}
	})
}
