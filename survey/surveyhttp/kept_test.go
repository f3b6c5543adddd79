package surveyhttp_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/belfry-go/belfry/internal/storetest"
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
