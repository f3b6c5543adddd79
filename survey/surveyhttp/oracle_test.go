package surveyhttp_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/survey"
)

// Whoever tries links learns nothing: what is unknown, malformed, expired or deleted
// is answered alike, on every route.
func TestALinkThatIsNoneHasOneAnswer(t *testing.T) {
	eachHost(t, func(h *host) {
		h.publish(strings.Replace(csiGR, `"channel":`, `"expiresAfter": "3d", "channel":`, 1))
		expired := h.visit("1", "ar")
		h.clock.Add(72 * time.Hour)
		deleted := h.visit("2", "vi")
		if err := h.survey.Delete(h.Context(), "tenant", h.publicID, survey.By{Actor: "sam", Reason: "asked to"}, nil); err != nil {
			h.Fatal(err)
		}
		live := h.visit("3", "en")
		tokens := []string{
			expired, deleted, live[:len(live)-1], live + "a", "a" + live, strings.ToUpper(live), h.publicID, "x", "%00", "%2e%2e", "%3Cscript%3E",
			strings.Repeat("a", len(live)), strings.Repeat("y", 4000), "%ff%fe", "a%2Fb", " " + live[1:],
		}
		for _, route := range []struct{ method, before, after, body, media string }{
			{"GET", "/s/", "", "", ""},
			{"POST", "/s/", "/opened", "", "text/plain"},
			{"POST", "/SurveyInstances/", "/responses", good, "application/x-www-form-urlencoded"},
			{"POST", "/SurveyInstances/", "/responses", "q.rate=99", "application/x-www-form-urlencoded"},
			{"POST", "/SurveyInstances/", "/responses", `{"answers":{"rate":9,"has-a-complaint":"no"}}`, "application/json"},
			{"POST", "/SurveyInstances/", "/responses", `{"answers":{"rate":99}}`, "application/json"},
		} {
			want := call(h, h.forms, route.method, route.before+"unknown"+route.after, route.body, "Content-Type", route.media)
			if want.Status != 404 || strings.Contains(want.Body, "<form") {
				h.Fatal(want)
			}
			for _, token := range tokens {
				got := call(h, h.forms, route.method, route.before+strings.ReplaceAll(token, " ", "%20")+route.after, route.body, "Content-Type", route.media)
				if diff := cmp.Diff(want, got); diff != "" {
					h.Errorf("%s %s with %.40q: %s", route.method, route.before, token, diff)
				}
			}
		}
		if status, _ := h.get("/s/" + live); status != 200 {
			h.Error("the link that is one:", status)
		}
		for _, path := range []string{"/", "/s", "/s/", "/s//", "/favicon.ico", "/SurveyInstances/x"} {
			if status, page := h.get(path); status != 404 && status != 301 && status != 307 || strings.Contains(page, "<form") {
				h.Error(path, status, page)
			}
		}
	})
}
