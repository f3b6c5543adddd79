package surveyhttp_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/belfry-go/belfry/survey"
)

// chosen is how often which rating was clicked and not sent.
func (h *host) chosen() []survey.ValueCount {
	h.Helper()
	got, err := h.survey.Results().Get(h.Context(), "tenant", survey.ResultQuery{SurveyID: 4523})
	if err != nil {
		h.Fatal(err)
	}
	for _, g := range got.Groups {
		if len(g.Chosen) > 0 {
			return g.Chosen[0].Counts
		}
	}
	return nil
}

// A link that was clicked with an answer shows it, and stores nothing: the page posts it.
// Its button does where there is no script, and says that it has.
func TestWhatWasClickedIsPostedByThePage(t *testing.T) {
	eachHost(t, func(h *host) {
		h.publish(csiGR)
		for n := range survey.MinResponses - 1 { // of fewer nothing is shown
			if err := h.survey.Choose(h.Context(), h.visit(strconv.Itoa(n), "en"), []byte(`{"rate": 4}`)); err != nil {
				h.Fatal(err)
			}
		}
		token := h.link("en")
		_, page := h.get("/s/" + token + "?q.rate=9&q.complaint=no+choice")
		if !strings.Contains(page, `value="9" checked`) || !strings.Contains(page, `data-chosen="`+token+`/chosen"`) || strings.Contains(page, "no choice") {
			h.Error(page)
		}
		h.says(page, "<noscript>", `<input type="hidden" name="q.rate" value="9">`, `name="button">Note my choice for now</button>`)
		if got := h.chosen(); len(got) != 0 {
			h.Errorf("a GET stored %v", got)
		}
		if _, page := h.get("/s/" + token); strings.Contains(page, "data-chosen=") || strings.Contains(page, "<noscript>") {
			h.Error("nothing was clicked:", page)
		}
		post := func(token, body string) answer {
			return call(h, h.forms, "POST", "/s/"+token+"/chosen", body, "Content-Type", "application/x-www-form-urlencoded")
		}
		if got := post(token, "q.rate=9&q.name=Sam"); got.Status != http.StatusNoContent {
			h.Error(got)
		}
		got := post(token, "q.rate=4&button=")
		if got.Status != http.StatusSeeOther || got.Header.Get("Location") != "../"+token+"?noted=&q.rate=4" {
			h.Fatal(got.Status, got.Header)
		}
		if counts := h.chosen(); len(counts) != 1 || counts[0] != (survey.ValueCount{Value: "4", N: 5}) {
			h.Error(counts)
		}
		if _, page := h.get("/s/" + token + "?noted=&q.rate=4"); !strings.Contains(page, "Your choice is noted.") || strings.Contains(page, "<noscript>") {
			h.Error(page)
		}
		for body, want := range map[string]int{"q.rate=99": 422, "%zz": 400, "": 204} {
			if got := post(token, body); got.Status != want {
				h.Errorf("%q: %d", body, got.Status)
			}
		}
		if status, page := h.form(token, good); status != 200 {
			h.Fatal(status, page)
		}
		if got := post(token, "q.rate=1&button="); got.Status != http.StatusSeeOther || len(h.chosen()) != 0 {
			h.Error("after the response:", got.Status, h.chosen())
		}
	})
}
