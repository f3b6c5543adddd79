package surveyhttp_test

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/belfry-go/belfry/survey"
	"github.com/belfry-go/belfry/survey/surveyhttp"
)

// works lets in whoever handles responses, and one who reads them.
func works(r *http.Request) (surveyhttp.Caller, error) {
	c := surveyhttp.Caller{Scope: "tenant", Responses: true, Actor: "ann"}
	switch r.Header.Get("Authorization") {
	case "Bearer ann":
	case "Bearer ben":
		c.Actor = "ben"
	case "Bearer reader":
		c.Actor = ""
	case "Bearer cork":
		c.BusinessUnits = []string{"cork"}
	case "Bearer other":
		c.Scope = "another"
	case "Bearer results":
		c = surveyhttp.Caller{Scope: "tenant", Results: true}
	default:
		return c, errors.New("who is that?")
	}
	return c, nil
}

// unhappy is a site with two responses, the second unhappier, and the public ids.
func (h *host) unhappy() (site http.Handler, ids []string) {
	h.Helper()
	h.publish(csiGR)
	for i, answers := range []string{
		`{"rate": 9, "has-a-complaint": "no"}`, `{"rate": 1, "has-a-complaint": "yes", "complaint": "<b>slow</b>"}`,
	} {
		h.visit([]string{"1", "2"}[i], "en")
		if _, err := h.survey.Complete(h.Context(), "tenant", h.publicID, survey.Response{Answers: []byte(answers)}); err != nil {
			h.Fatal(err)
		}
		ids = append(ids, h.publicID)
	}
	return surveyhttp.Worklist(h.survey, works, &surveyhttp.ResultOptions{Logger: logTo(&locked{h: h})}), ids
}

// The unhappiest is first, with what was written. Whoever handles one says how; it leaves
// the list, and its page says who did. The second to handle it changes nothing.
func TestADeskHandlesResponses(t *testing.T) {
	eachHost(t, func(h *host) {
		site, ids := h.unhappy()
		got := see(h, site, "ann", "/4523")
		h.says(got.Body, "Score 0 of 100", "&lt;b&gt;slow&lt;/b&gt;", `href="4523/`+ids[1]+`"`, "cust-123")
		if strings.Index(got.Body, ids[1]) > strings.Index(got.Body, ids[0]) || strings.Contains(got.Body, "<script") {
			h.Errorf("the order:\n%s", got.Body)
		}
		handle := func(who, note string) answer {
			return call(h, site, "POST", "/4523/"+ids[1], "note="+url.QueryEscape(note), "Authorization", "Bearer "+who, "Content-Type", "application/x-www-form-urlencoded")
		}
		if got := handle("ann", "  "); got.Status != http.StatusUnprocessableEntity || !strings.Contains(got.Body, `role="alert"`) {
			h.Errorf("%d\n%s", got.Status, got.Body)
		}
		for _, who := range []string{"ann", "ben"} {
			if got := handle(who, "called the customer, says "+who); got.Status != http.StatusSeeOther || got.Header.Get("Location") != ids[1] {
				h.Fatalf("%d %s\n%s", got.Status, got.Header.Get("Location"), got.Body)
			}
		}
		one := see(h, site, "reader", "/4523/"+ids[1])
		h.says(one.Body, "By <bdi>ann</bdi>, 2026-05-14 05:12 UTC", "called the customer, says ann", "event: wip")
		if list := see(h, site, "ann", "/4523").Body; strings.Contains(list, ids[1]) || !strings.Contains(list, ids[0]) {
			h.Errorf("after it:\n%s", list)
		}
	})
}

// Nobody sees or handles what is not theirs.
func TestTheWorklistIsForWhomTheHostLetsIn(t *testing.T) {
	eachHost(t, func(h *host) {
		site, ids := h.unhappy()
		for _, c := range []struct {
			who, method, path string
			want              int
		}{
			{"nobody", "GET", "/4523", 401}, {"results", "GET", "/4523", 403}, {"reader", "POST", "/4523/" + ids[0], 403},
			{"cork", "GET", "/4523/" + ids[0], 404}, {"cork", "POST", "/4523/" + ids[0], 404}, {"other", "GET", "/4523/" + ids[0], 404},
			{"ann", "GET", "/4524/" + ids[0], 404}, {"ann", "GET", "/x", 400}, {"ann", "GET", "/4523?after=x", 400}, {"reader", "GET", "/4523/" + ids[0], 200},
		} {
			got := call(h, site, c.method, c.path, "note=done", "Authorization", "Bearer "+c.who, "Content-Type", "application/x-www-form-urlencoded")
			if got.Status != c.want {
				h.Errorf("%+v: %d\n%s", c, got.Status, got.Body)
			}
		}
		for _, who := range []string{"cork", "other"} {
			if got := see(h, site, who, "/4523"); got.Status != 200 || !strings.Contains(got.Body, "Nothing waits") {
				h.Errorf("%s: %d\n%s", who, got.Status, got.Body)
			}
		}
		cross := call(h, site, "POST", "/4523/"+ids[0], "note=done", "Authorization", "Bearer ann", "Content-Type", "application/x-www-form-urlencoded", "Sec-Fetch-Site", "cross-site")
		if cross.Status != http.StatusForbidden {
			h.Error(cross.Status)
		}
	})
}
