package surveyhttp_test

import (
	"errors"
	"html"
	"net/http"
	"net/url"
	"strconv"
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

// complaining is the document's survey, in which who has a complaint is unhappy.
var complaining = strings.Replace(csiGR, `"questions"`, `"unhappy": {"questionId": "has-a-complaint", "op": "==", "value": "yes"}, "queue": "candidate.jobType", "questions"`, 1)

// unhappy is a site with two unhappy responses and a happy one, and the public ids.
func (h *host) unhappy() (site http.Handler, ids []string) {
	h.Helper()
	h.publish(complaining)
	for i, answers := range []string{
		`{"rate": 9, "has-a-complaint": "yes", "complaint": "the coffee", "by": "bus"}`, `{"rate": 1, "has-a-complaint": "yes", "complaint": "<b>slow</b>"}`, `{"rate": 2, "has-a-complaint": "no"}`,
	} {
		h.visit(strconv.Itoa(i+1), "en")
		if _, err := h.survey.Complete(h.Context(), "tenant", h.publicID, survey.Response{Answers: []byte(answers)}); err != nil {
			h.Fatal(err)
		}
		ids = append(ids, h.publicID)
	}
	return surveyhttp.Worklist(h.survey, works, &surveyhttp.WorklistOptions{
		Ticket: func(w survey.WorkItem) string { return "https://desk.example/" + w.PublicID }, Logger: logTo(&locked{h: h}),
	}), ids
}

// act posts what a desk does.
func (h *host) act(site http.Handler, who, id string, form url.Values) answer {
	h.Helper()
	return call(h, site, "POST", "/4523/"+id, form.Encode(), "Authorization", "Bearer "+who, "Content-Type", "application/x-www-form-urlencoded")
}

// The newest is first, with what was written. Whoever takes one is named; whoever handles it says
// how, and it leaves the list, and its page says who did. The second to do so changes nothing.
func TestADeskHandlesResponses(t *testing.T) {
	eachHost(t, func(h *host) {
		site, ids := h.unhappy()
		list := func(query string) string { return see(h, site, "ann", "/4523"+query).Body }
		got := list("")
		h.says(got, "2 responses", "score 0 of 100", "&lt;b&gt;slow&lt;/b&gt;", `href="4523/`+ids[1]+`"`, "cust-123", "What went wrong?", "GR (2)")
		if strings.Index(got, ids[1]) > strings.Index(got, ids[0]) || strings.Contains(got, ids[2]) || strings.Contains(got, "<script") {
			h.Errorf("the order:\n%s", got)
		}
		for who, from := range map[string]string{"ann": "", "ben": "nobody"} {
			if got := h.act(site, who, ids[1], url.Values{"do": {"take"}, "from": {from}}); got.Status != http.StatusSeeOther || got.Header.Get("Location") != ids[1] {
				h.Fatalf("%d\n%s", got.Status, got.Body)
			}
		}
		h.says(see(h, site, "ben", "/4523/"+ids[1]).Body, "It is with <bdi>ann</bdi>", "Take it over")
		for query, want := range map[string]string{
			"?mine": ids[1], "?state=assigned": ids[1], "?state=open": ids[0], "?queue=GR&since=2026-05-14&until=2026-05-14": ids[1], "?queue=other": "There are no such responses", "?since=2026-05-15": "There are no such responses",
		} {
			h.says(list(query), want)
		}
		h.act(site, "ann", ids[1], url.Values{"do": {"release"}, "from": {"ann"}})
		h.says(list("?mine"), "There are no such responses")
		if got := h.act(site, "ann", ids[1], url.Values{"do": {"handle"}, "note": {"  "}}); got.Status != http.StatusUnprocessableEntity || !strings.Contains(got.Body, `role="alert"`) {
			h.Errorf("%d\n%s", got.Status, got.Body)
		}
		if got := h.act(site, "ann", ids[1], url.Values{"do": {"lose"}}); got.Status != http.StatusBadRequest {
			h.Errorf("%d\n%s", got.Status, got.Body)
		}
		for _, who := range []string{"ann", "ben"} {
			h.act(site, who, ids[1], url.Values{"do": {"handle"}, "note": {"called the customer, says " + who}})
		}
		one := see(h, site, "reader", "/4523/"+ids[1])
		h.says(one.Body, "By <bdi>ann</bdi>, 2026-05-14 05:12 UTC", "called the customer, says ann", "<bdi>wip</bdi>", `href="https://desk.example/`+ids[1]+`"`)
		h.says(see(h, site, "reader", "/4523/"+ids[0]).Body, "How did you come?", "By bus")
		h.says(list("?state=handled"), ids[1], "handled by <bdi>ann</bdi>")
		if left := list(""); strings.Contains(left, ids[1]) || !strings.Contains(left, ids[0]) || !strings.Contains(left, "1 response<") {
			h.Errorf("after it:\n%s", left)
		}
		h.publish(csiGR)
		h.act(site, "ann", ids[0], url.Values{"do": {"handle"}, "note": {"called"}})
		h.says(list(""), "does not say which answers are unhappy")
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
			{"ann", "GET", "/4524/" + ids[0], 404}, {"ann", "GET", "/x", 400}, {"ann", "GET", "/4523?after=x", 400}, {"ann", "GET", "/4523?state=x", 400}, {"ann", "GET", "/4523?since=x", 400}, {"ann", "GET", "/4523?queue=%00", 400}, {"reader", "GET", "/4523/" + ids[0], 200},
		} {
			got := call(h, site, c.method, c.path, "do=handle&note=done", "Authorization", "Bearer "+c.who, "Content-Type", "application/x-www-form-urlencoded")
			if got.Status != c.want {
				h.Errorf("%+v: %d\n%s", c, got.Status, got.Body)
			}
		}
		for _, who := range []string{"cork", "other"} {
			if got := see(h, site, who, "/4523"); got.Status != 200 || !strings.Contains(got.Body, "no such responses") {
				h.Errorf("%s: %d\n%s", who, got.Status, got.Body)
			}
		}
		cross := call(h, site, "POST", "/4523/"+ids[0], "do=handle&note=done", "Authorization", "Bearer ann", "Content-Type", "application/x-www-form-urlencoded", "Sec-Fetch-Site", "cross-site")
		if cross.Status != http.StatusForbidden {
			h.Error(cross.Status)
		}
	})
}

// A list that is longer than a page leads to the rest of the same list.
func TestAWorklistGoesOnWithTheNextPage(t *testing.T) {
	t.Parallel()
	h := memoryHost(t)
	site, ids := h.unhappy()
	for n := range 50 {
		h.visit("more "+strconv.Itoa(n), "en")
		if _, err := h.survey.Complete(t.Context(), "tenant", h.publicID, survey.Response{Answers: []byte(`{"rate": 1, "has-a-complaint": "yes", "complaint": "late"}`)}); err != nil {
			t.Fatal(err)
		}
	}
	first := see(h, site, "ann", "/4523?state=open&queue=GR").Body
	_, link, _ := strings.Cut(first, `<a href="?`)
	link, _, _ = strings.Cut(link, `">More</a>`)
	rest := see(h, site, "ann", "/4523?"+html.UnescapeString(link)).Body
	h.says(rest, ids[0], ids[1], `<option value="open" selected>`, `<option value="GR" selected>`)
	if strings.Contains(first, ids[0]) || strings.Contains(rest, ">More<") {
		t.Errorf("after %s:\n%s", link, shown(rest))
	}
}
