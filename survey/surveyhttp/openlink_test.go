package surveyhttp_test

import (
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"
	"testing"

	"github.com/belfry-go/belfry/survey"
	"github.com/belfry-go/belfry/survey/surveyhttp"
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

// One address that has sent too much is told so, and keeps what was typed.
func TestAnOpenLinkHasARate(t *testing.T) {
	t.Parallel()
	h := memoryHost(t)
	h.publish(poster)
	link, err := h.survey.OpenLink(h.Context(), "tenant", 4523, "poster")
	if err != nil {
		t.Fatal(err)
	}
	path := "/SurveyInstances/" + link[strings.LastIndex(link, "/")+1:] + "/responses"
	forms := surveyhttp.Forms(h.survey, &surveyhttp.FormOptions{Address: func(r *http.Request) string { return r.Header.Get("X-From") }})
	send := func(n int, from, media, body string) answer {
		return call(h, forms, "POST", path, body, "Content-Type", media, "Idempotency-Key", fmt.Sprint(from, n), "X-From", from)
	}
	for n := range 60 {
		if got := send(n, "192.0.2.1", "application/json", `{"answers": {"stars": 1}}`); got.Status != http.StatusOK {
			t.Fatal(n, got.Status, got.Body)
		}
	}
	if got := send(60, "192.0.2.1", "application/json", `{"answers": {"stars": 1}}`); got.Status != http.StatusTooManyRequests {
		t.Error(got.Status, got.Body)
	}
	got := send(61, "192.0.2.1", "application/x-www-form-urlencoded", "q.stars=4&nonce=x")
	if got.Status != http.StatusTooManyRequests || readPage(h, got.Body).form.Get("q.stars") != "4" {
		t.Error(got.Status, got.Body)
	}
	if got := send(0, "192.0.2.2", "application/json", `{"answers": {"stars": 1}}`); got.Status != http.StatusOK {
		t.Error(got.Status, got.Body)
	}
}

// An anonymous form that is sent twice leads to its thanks twice; another one is refused, and shows
// what was typed.
func TestAnAnonymousFormThatIsSentTwiceIsThanked(t *testing.T) {
	eachHost(t, func(h *host) {
		h.publish(strings.Replace(csiGR, `"questions":`, `"anonymous": true, "questions":`, 1))
		token := h.visit("40956", "en")
		_, page := h.get("/s/" + token)
		form := readPage(h, page).form
		form.Set("q.rate", "7")
		form.Set("q.has-a-complaint", "no")
		send := func() answer {
			return call(h, h.forms, "POST", "/SurveyInstances/"+token+"/responses", form.Encode(), "Content-Type", "application/x-www-form-urlencoded")
		}
		if strings.Contains(page, "data-open>") || form.Get("nonce") == "" {
			h.Errorf("the form:\n%s", page)
		}
		for _, when := range []string{"once", "twice"} {
			if got := send(); got.Status != http.StatusSeeOther || !strings.HasSuffix(got.Header.Get("Location"), "?sent") {
				h.Errorf("%s: %d %s\n%s", when, got.Status, got.Header.Get("Location"), shown(got.Body))
			}
		}
		form.Set("q.rate", "2")
		if got := send(); got.Status != http.StatusConflict || !strings.Contains(got.Body, "was not stored") {
			h.Errorf("others: %d\n%s", got.Status, shown(got.Body))
		}
	})
}
