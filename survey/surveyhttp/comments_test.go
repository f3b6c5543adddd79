package surveyhttp_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/belfry-go/belfry/survey"
)

// The page lists what customers wrote, keeps what was asked for, and looks for a text that is
// posted. It is for who may read responses.
func TestCommentsAreShown(t *testing.T) {
	eachHost(t, func(h *host) {
		site := h.shows(3)
		h.visit("last", "en")
		if _, err := h.survey.Complete(h.Context(), "tenant", h.publicID, survey.Response{Answers: []byte(`{"rate": 10, "has-a-complaint": "yes", "complaint": "Cold coffee"}`)}); err != nil {
			h.Fatal(err)
		}
		all := see(h, site, "lead", "/4523/comments")
		h.says(all.Body, "&lt;b&gt;slow&lt;/b&gt;", "Cold coffee", "score 100 of 100", `href="../4523"`)
		if strings.Index(all.Body, "Cold coffee") > strings.Index(all.Body, "slow") {
			h.Errorf("the order:\n%s", all.Body)
		}
		h.says(see(h, site, "lead", "/4523").Body, `href="4523/comments?"`)
		post := func(who string, values url.Values) answer {
			return call(h, site, "POST", "/4523/comments", values.Encode(), "Authorization", "Bearer "+who, "Content-Type", "application/x-www-form-urlencoded")
		}
		found := post("lead", url.Values{"text": {"COLD"}, "since": {"2026-05-14"}})
		h.says(found.Body, "Cold coffee", `name="text" value="COLD"`, `name="since" value="2026-05-14"`)
		if strings.Contains(found.Body, "slow") {
			h.Errorf("of another text:\n%s", found.Body)
		}
		low := post("lead", url.Values{"score": {"50"}})
		h.says(low.Body, "slow", `value="50" selected`)
		if strings.Contains(low.Body, "Cold coffee") {
			h.Errorf("of a high score:\n%s", low.Body)
		}
		h.says(post("lead", url.Values{"by": {"candidate.city"}, "value": {"=Cork 1"}}).Body, "slow", `value="=Cork 1"`)
		h.says(post("lead", url.Values{"text": {"nobody wrote it"}}).Body, "There are no comments in this selection.")
		for path, want := range map[string]int{"/4523/comments?after=1": 400, "/4523/comments?after=x": 400, "/4523/comments?since=may": 400, "/7/comments": 404} {
			if got := see(h, site, "lead", path); got.Status != want {
				h.Errorf("%s: %d", path, got.Status)
			}
		}
		if got := post("lead", url.Values{"text": {strings.Repeat("x", 20<<10)}}); got.Status != http.StatusBadRequest {
			h.Error("a text of 20 kB:", got.Status)
		}
		for _, who := range []string{"reader", "nobody"} {
			if got := see(h, site, who, "/4523/comments"); got.Status != http.StatusForbidden && got.Status != http.StatusUnauthorized || strings.Contains(got.Body, "slow") {
				h.Errorf("%s: %d", who, got.Status)
			}
		}
	})
}
