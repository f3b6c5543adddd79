package surveyhttp_test

import (
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"
	"github.com/lib/pq"

	"github.com/belfry-go/belfry/internal/pgtest"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/internal/testlevel"
	"github.com/belfry-go/belfry/storage/postgres"
	"github.com/belfry-go/belfry/survey"
)

// none are tokens of links that are none, or were taken back; and one that is.
func (h *host) none() (none []string, live string) {
	h.Helper()
	h.publish(strings.Replace(csiGR, `"channel":`, `"expiresAfter": "3d", "channel":`, 1))
	expired := h.visit("1", "ar")
	h.takeBack()
	h.clock.Add(72 * time.Hour)
	h.drain()
	deleted := h.visit("3", "vi")
	h.takeBack()
	live = h.visit("4", "en")
	return []string{
		"unknown", expired, deleted, live[:len(live)-1], live + "a", "a" + live, strings.ToUpper(live), h.publicID, "x", "%00", "%2e%2e",
		"%3Cscript%3E", strings.Repeat("a", len(live)), strings.Repeat("y", 4000), "%ff%fe", "a%2Fb", "%20" + live[1:],
	}, live
}

// takeBack takes the link of the last visit back, which expires afterwards.
func (h *host) takeBack() {
	h.Helper()
	if err := h.survey.Support().Delete(h.Context(), "tenant", h.publicID, survey.By{Actor: "sam", Reason: "asked to"}, nil); err != nil {
		h.Fatal(err)
	}
}

var routes = []struct{ method, before, after, body, media string }{
	{"GET", "/s/", "", "", ""},
	{"HEAD", "/s/", "", "", ""},
	{"POST", "/s/", "/opened", "", "text/plain"},
	{"POST", "/SurveyInstances/", "/responses", good, "application/x-www-form-urlencoded"},
	{"POST", "/SurveyInstances/", "/responses", "q.rate=99", "application/x-www-form-urlencoded"},
	{"POST", "/SurveyInstances/", "/responses", `{"answers":{"rate":9,"has-a-complaint":"no"}}`, "application/json"},
	{"POST", "/SurveyInstances/", "/responses", `{"answers":{"rate":99}}`, "application/json"},
}

// Whoever tries links learns nothing: what is unknown, malformed or deleted
// is answered alike, on every route.
func TestALinkThatIsNoneHasOneAnswer(t *testing.T) {
	eachHost(t, func(h *host) {
		none, live := h.none()
		for _, r := range routes {
			var want answer
			for i, token := range none {
				got := call(h, h.forms, r.method, r.before+token+r.after, r.body, "Content-Type", r.media)
				if i == 0 {
					want = got
				}
				if diff := cmp.Diff(want, got); diff != "" || got.Status != 404 || strings.Contains(got.Body, "<form") {
					h.Errorf("%s %s with %.40q: %d %s", r.method, r.before, token, got.Status, diff)
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

// Nor does the time tell: every link that is none asks the database the same, once.
func TestALinkThatIsNoneTakesTheSameStatements(t *testing.T) {
	t.Parallel()
	testlevel.Need(t, testlevel.Check)
	connector, err := pq.NewConnector(pgtest.With(t, pgtest.DSN(t), "binary_parameters", "yes"))
	if err != nil {
		t.Fatal(err)
	}
	db, counter := storetest.CountStatements(connector)
	t.Cleanup(func() { _ = db.Close() })
	clk := clock.NewMock()
	clk.Set(start)
	store, err := postgres.New(t.Context(), db, &postgres.Options{Clock: clk, Migrate: postgres.MigrateAuto})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	h := newHost(t, store, clk)
	none, live := h.none()
	ask := func(token string, i int) []string {
		r := routes[i]
		counter.Take()
		call(t, h.forms, r.method, r.before+token+r.after, r.body, "Content-Type", r.media)
		return counter.Take()
	}
	for i, r := range routes {
		want := ask(none[0], i)
		if len(want) == 0 {
			t.Errorf("%s %s: no statement is counted", r.method, r.before)
		}
		for _, token := range none {
			if diff := cmp.Diff(want, ask(token, i)); diff != "" {
				t.Errorf("%s %s with %.40q: %s", r.method, r.before, token, diff)
			}
		}
	}
	if cmp.Equal(ask(none[0], 0), ask(live, 0)) {
		t.Error("a form takes as little as no form: the statements are not counted")
	}
}
