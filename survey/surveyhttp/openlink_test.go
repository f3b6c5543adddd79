package surveyhttp_test

import (
	"net/http"
	"net/url"
	"path"
	"strings"
	"testing"

	"github.com/belfry-go/belfry/survey"
)

const poster = `{"title": "How was it?", "thanks": "See you.", "endings": [{"when": {"questionId": "stars", "op": "<", "value": 3}, "text": "We are sorry."}],
	"questions": [{"id": "stars", "type": "rating", "required": true}], "openLinks": [{"id": "poster", "enabled": true}]}`

// Each form of an open link counts once, also when it is sent twice, and leads to the thanks of its
// own response; the next one begins anew.
func TestAnOpenLinkIsAnsweredByForm(t *testing.T) {
	eachHost(t, func(h *host) {
		h.publish(poster)
		link, err := h.survey.OpenLink(h.Context(), "tenant", 4523, "poster")
		if err != nil {
			t.Fatal(err)
		}
		token := link[strings.LastIndex(link, "/")+1:]
		open := func() url.Values {
			h.Helper()
			status, page := h.get("/s/" + token)
			if status != http.StatusOK || strings.Contains(page, "data-opened") {
				h.Fatalf("%d\n%s", status, page)
			}
			return readPage(h, page).form
		}
		send := func(form url.Values) string {
			h.Helper()
			resp := call(h, h.forms, "POST", "/SurveyInstances/"+token+"/responses", form.Encode(), "Content-Type", "application/x-www-form-urlencoded")
			if resp.Status != http.StatusSeeOther {
				h.Fatalf("%d\n%s", resp.Status, resp.Body)
			}
			return path.Join("/SurveyInstances", token, resp.Header.Get("Location"))
		}
		sad, happy := open(), open()
		if sad.Get("nonce") == "" || sad.Get("nonce") == happy.Get("nonce") {
			h.Errorf("two forms count as one: %v %v", sad, happy)
		}
		wrong := call(h, h.forms, "POST", "/SurveyInstances/"+token+"/responses", sad.Encode(), "Content-Type", "application/x-www-form-urlencoded")
		if wrong.Status != http.StatusUnprocessableEntity || readPage(h, wrong.Body).form.Get("nonce") != sad.Get("nonce") {
			h.Errorf("%d\n%s", wrong.Status, wrong.Body)
		}
		sad.Set("q.stars", "1")
		happy.Set("q.stars", "5")
		first := send(sad)
		if again := send(sad); again != first {
			h.Errorf("the same form leads to %s and %s", first, again)
		}
		for to, thanks := range map[string]string{first: "We are sorry.", send(happy): "See you."} {
			if _, page := h.get(to); !strings.Contains(page, thanks) || strings.Contains(to, token) {
				h.Errorf("%s: no %s in\n%s", to, thanks, shown(page))
			}
		}
		if status, _ := h.post(token, `{"answers": {"stars": 1}}`); status != http.StatusUnprocessableEntity {
			h.Errorf("without a key of its own: %d", status)
		}
		if got := call(h, h.forms, "POST", "/SurveyInstances/"+token+"/responses", `{"answers": {"stars": 1}}`, "Content-Type", "application/json", "Idempotency-Key", "a program's"); got.Status != http.StatusOK {
			h.Errorf("%d %s", got.Status, got.Body)
		}
		if got := call(h, h.forms, "POST", "/s/"+token+"/opened", "", "Content-Type", "text/plain"); got.Status != http.StatusNoContent {
			h.Errorf("the beacon: %d", got.Status)
		}
		list, _, err := h.survey.Responses().List(h.Context(), "tenant", survey.ResponseQuery{SurveyID: 4523})
		if err != nil || len(list) != 3 {
			h.Errorf("%+v %v", list, err)
		}
	})
}
