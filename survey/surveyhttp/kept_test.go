package surveyhttp_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/survey/form"
	"github.com/belfry-go/belfry/survey/surveyhttp"
)

// typed is a form whose name has to be on every page that answers it.
const typed = good + "&q.liked=people&q.by=bus"

// Answers that somebody else was quicker with are not stored, and can be copied.
func TestRefusedAnswersAreShown(t *testing.T) {
	eachHost(t, func(h *host) {
		token := h.link("en")
		if status, page := h.form(token, "q.rate=1&q.has-a-complaint=no"); status != 200 {
			h.Fatal(status, page)
		}
		status, page := h.form(token, "q.rate=2&q.has-a-complaint=yes&shown=complaint&q.complaint=slow+%3Cand%3E+loud&q.by=bus")
		if status != 409 || strings.Contains(page, "<form") {
			h.Error(status, page)
		}
		for _, part := range []string{"slow &lt;and&gt; loud</dd>", "By bus</dd>", ">2</dd>", "What went wrong?</dt>"} {
			if !strings.Contains(page, part) {
				h.Errorf("no %s in %s", part, page)
			}
		}
		if strings.Contains(page, "Next visit") {
			h.Error("a question without an answer is listed:", page)
		}
	})
}

// Whoever holds a link whose time is over is told so in his language, and keeps what he
// typed. A program is told too.
func TestAnExpiredLinkSaysSo(t *testing.T) {
	eachHost(t, func(h *host) {
		h.publish(strings.Replace(csiGR, `"channel":`, `"expiresAfter": "3d", "channel":`, 1))
		token := h.visit("1", "ar")
		h.clock.Add(72 * time.Hour)
		for _, when := range []string{"late", "swept"} {
			if status, page := h.get("/s/" + token); status != 410 || !strings.Contains(page, "انتهى هذا الاستبيان") || strings.Contains(page, "<form") {
				h.Errorf("%s: %d %s", when, status, page)
			}
			status, page := h.form(token, typed)
			if status != 410 || !strings.Contains(page, ">Sam</dd>") || strings.Contains(page, "<form") {
				h.Errorf("%s, posted: %d %s", when, status, page)
			}
			if status, body := h.post(token, `{"answers":{"rate":9,"has-a-complaint":"no"}}`); status != 410 || !strings.Contains(body, "over") {
				h.Errorf("%s, as JSON: %d %s", when, status, body)
			}
			if got := h.answers(); got != "" {
				h.Errorf("%s: %s was stored", when, got)
			}
			h.drain()
		}
	})
}

// The language that a customer has switched to is that of every page that follows, faults
// too, and is stored with the response.
func TestTheChosenLanguageStays(t *testing.T) {
	eachHost(t, func(h *host) {
		token := h.link("en")
		ask := func(method, at, body string) answer {
			return call(h, h.forms, method, at+"?lang=ar", body, "Content-Type", "application/x-www-form-urlencoded", "Accept-Language", "de")
		}
		arabic := func(what string, got answer) {
			h.Helper()
			if !strings.Contains(got.Body, `<html lang="ar" dir="rtl">`) {
				h.Errorf("%s: %d %.80s", what, got.Status, got.Body)
			}
		}
		responses := "/SurveyInstances/" + token + "/responses"
		arabic("the form", ask("GET", "/s/"+token, ""))
		arabic("more questions", ask("POST", responses, "q.has-a-complaint=yes"))
		arabic("faults", ask("POST", responses, "q.rate=99"))
		arabic("unread", call(h, h.forms, "POST", responses+"?lang=ar", "x", "Content-Type", "text/plain", "Accept-Language", "de"))
		arabic("no link", ask("GET", "/s/x", ""))
		before := h.forms
		h.forms = surveyhttp.Forms(h.survey, &surveyhttp.FormOptions{Limit: func(*http.Request) error { return errors.New("slow down") }})
		arabic("busy", ask("POST", responses, typed))
		h.forms = before
		done := ask("POST", responses, good)
		if where := done.Header.Get("Location"); done.Status != 303 || where != "../../s/"+token+"?sent&lang=ar" {
			h.Fatal(done.Status, where, done.Body)
		}
		arabic("thanks", call(h, h.forms, "GET", "/s/"+token+"?sent&lang=ar", ""))
		arabic("answered", ask("GET", "/s/"+token, ""))
		got, err := h.survey.Responses().Get(h.Context(), "tenant", h.publicID)
		if err != nil || got.Locale != "ar" {
			h.Errorf("the response was given in %q, %v", got.Locale, err)
		}
	})
}

// A form that can be read in part comes back with that part.
func TestAnUnreadableFormComesBack(t *testing.T) {
	eachHost(t, func(h *host) {
		token := h.link("en")
		status, page := h.form(token, typed+"&q.complaint=%zz")
		if status != 400 || !strings.Contains(page, `value="Sam"`) || !strings.Contains(page, `value="bus" checked`) || !strings.Contains(page, "<button") {
			h.Error(status, page)
		}
		if got := h.answers(); got != "" {
			h.Errorf("%s was stored", got)
		}
	})
}

// A database that is away, or a limit, costs the customer a click and no answer:
// what the page holds is taken later.
func TestAFaultLosesNothingTyped(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]struct {
		status int
		begin  func(h *host) (end func())
		want   string
	}{
		"storing": {503, func(h *host) func() {
			spy := h.store.(*storetest.Spy)
			reads := spy.Begun() + 1 // the form
			spy.SetHook(func(c storetest.Call) error {
				if c.Number <= reads {
					return nil
				}
				return away(c)
			})
			return func() { spy.SetHook(nil) }
		}, `value="bus" checked`},
		"reading": {503, func(h *host) func() {
			spy := h.store.(*storetest.Spy)
			spy.SetHook(away)
			return func() { spy.SetHook(nil) }
		}, `<input type="hidden" name="q.liked" value="people">`},
		"limit": {429, func(h *host) func() {
			before := h.forms
			h.forms = surveyhttp.Forms(h.survey, &surveyhttp.FormOptions{Limit: func(*http.Request) error { return errors.New("slow down") }})
			return func() { h.forms = before }
		}, `<input type="hidden" name="q.name" value="Sam">`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := memoryHost(t)
			token := h.link("en")
			end := fault.begin(h)
			status, page := h.form(token, typed)
			if status != fault.status || !strings.Contains(page, fault.want) || !strings.Contains(page, "<button") || !strings.Contains(page, "Please try again") {
				t.Error(status, page)
			}
			end()
			if status, page := h.form(token, typed); status != 200 {
				t.Error(status, page)
			}
		})
	}
}

// Whoever comes to a page without a form is told how to reach the host, if it says so, in the
// language of the page; no page of a form does.
func TestAPageWithoutAFormSaysHowToReachTheHost(t *testing.T) {
	t.Parallel()
	h := onMemory(t, strings.Replace(csiGR, `"channel":`, `"expiresAfter": "3d", "channel":`, 1))
	h.forms = surveyhttp.Forms(h.survey, &surveyhttp.FormOptions{Contact: form.Text{"": "Call <us>: +49 30 1234", "ar": "اتصل بنا"}})
	open, arabic, done := h.visit("1", "en"), h.visit("2", "ar"), h.visit("3", "en")
	const contact = `<p class="contact" dir="auto">Call &lt;us&gt;: &#43;49 30 1234</p>`
	if _, page := h.get("/s/" + open); strings.Contains(page, "49 30") {
		t.Error("a form says it:", shown(page))
	}
	if _, page := h.form(done, good); strings.Contains(page, "49 30") {
		t.Error("the thanks say it:", shown(page))
	}
	_, page := h.get("/s/" + done)
	h.says(page, contact)
	_, page = h.form(done, "q.rate=1&q.has-a-complaint=no")
	h.says(page, contact)
	_, page = h.get("/s/none")
	h.says(page, contact)
	h.clock.Add(72 * time.Hour)
	_, page = h.get("/s/" + open)
	h.says(page, "This survey has ended", contact)
	_, page = h.get("/s/" + arabic)
	h.says(page, `<p class="contact" dir="auto">اتصل بنا</p>`)
	_, page = h.form(open, typed)
	h.says(page, contact, ">Sam</dd>")
	h.forms = surveyhttp.Forms(h.survey, nil)
	if _, page = h.get("/s/" + open); strings.Contains(page, "contact") {
		t.Error("the host says nothing:", shown(page))
	}
}
