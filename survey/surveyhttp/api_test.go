package surveyhttp_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/survey"
)

const (
	ingestPath = "/api/Surveys/Triggers/ingest"
	tickPath   = "/api/Surveys/scheduler/tick"
)

// visit is the document's request.
const visit = `{
  "eventKind": "service-visit-closed",
  "items": [{
    "payload": {
      "wip": "40956",
      "dealerId": "1",
      "jobType": "GR",
      "VIN": "JTMABBBJ2N4024400",
      "CustomerName": "a customer"
    },
    "recipient": {
      "address": "+964 770 000 0001",
      "locale": "ar",
      "customerRef": "cust-123"
    }
  }]
}`

// tell is a request of a program that may do all.
func (h *host) tell(path, body string) (int, string) {
	h.Helper()
	resp := call(h, h.api, "POST", path, body, "Content-Type", "application/json", "Authorization", "Bearer both")
	return resp.Status, resp.Body
}

// One bad item takes no other with it, and the answers are in the order of the items.
func TestABadItemFailsAlone(t *testing.T) {
	eachHost(t, func(h *host) {
		h.publish(csiGR)
		item := func(wip, more string) string {
			return `{"payload":{"wip":"` + wip + `","dealerId":"1","jobType":"GR"},"recipient":{"address":"a@example.com"}` + more + `}`
		}
		items := []string{
			item("1", ""), item("2", `,"occurredOn":"tomorrow"`), item("3", `,"colour":"red"`), `{"payload":{"wip":"4"}}`, `7`,
			`{"payload":"wip","recipient":{"address":"a"}}`, `{"payload":{"wip":"5","wip":"6"},"recipient":{"address":"a"}}`,
			`{"payload":{},"recipient":{"address":7}}`, `{"payload":{},"recipient":{"Address":"a"}}`, `{"payload":{},"recipient":{"address":"a","address":"b"}}`,
			`{"payload":{"wip":"9","dealerId":"1","jobType":"GR"},"recipient":{"address":"a@example.com","name":{"first":"Sam"}}}`,
			`{"payload":{"jobType":"PM"},"recipient":{"address":"a"}}`, item("7", `,"occurredOn":"2026-05-01T10:00:00+03:00"`), item("8", `,"occurredOn":null`), item("1", ""),
		}
		status, text := h.tell(ingestPath, `{"eventKind":"service-visit-closed","items":[`+strings.Join(items, ",")+`]}`)
		var report struct {
			Created, Skipped, Failed, NoMatch int
			Items                             []struct{ Outcome, Reason string }
		}
		if err := json.Unmarshal([]byte(text), &report); status != 200 || err != nil {
			h.Fatal(status, text, err)
		}
		var got []string
		for _, i := range report.Items {
			got = append(got, strings.TrimSpace(i.Outcome+" "+i.Reason))
		}
		want := []string{
			"Created", "Failed occurredOn is not a moment such as 2026-05-14T05:12:34Z", `Failed the item has a member "colour", which is not known`,
			"Failed payload or recipient is missing", "Failed the item is not an object", "Failed payload: is not a JSON object", `Failed payload: two values at "candidate.wip"`,
			"Failed recipient.address is not a text", "Failed recipient.address: is empty", `Failed recipient has the member "address" twice`,
			"Created",
			"NoMatch", "Created", "Created", "Skipped",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			h.Error(diff)
		}
		if report.Created != 4 || report.Skipped != 1 || report.Failed != 9 || report.NoMatch != 1 {
			h.Error(report)
		}
		all, _, err := h.survey.Support().Instances(h.Context(), "tenant", survey.Selection{SurveyID: 4523}, storage.Page{})
		if err != nil || len(all) != 4 {
			h.Error(len(all), err)
		}
		for _, i := range all {
			if strings.Contains(string(i.Metadata), `"7"`) && !i.TriggeredOn.Equal(time.Date(2026, 5, 1, 7, 0, 0, 0, time.UTC)) {
				h.Error(i.TriggeredOn)
			}
		}
	})
}

// Nothing works for whom the host has not let in, and nothing is said about why.
func TestNobodyGetsInWithoutTheHost(t *testing.T) {
	t.Parallel()
	h := memoryHost(t)
	h.publish(csiGR)
	for credentials, want := range map[string]int{"": 401, "Bearer wrong": 401, "Bearer neither": 403} {
		for _, path := range []string{ingestPath, tickPath} {
			resp := call(t, h.api, "POST", path, visit, "Content-Type", "application/json", "Authorization", credentials)
			if text := resp.Body; resp.Status != want || strings.Contains(text, "who is that") || resp.Header.Get("Cache-Control") != "no-store" {
				t.Error(credentials, path, resp.Status, text)
			}
		}
	}
	// A page of another site, through the browser of somebody who is let in.
	resp := call(t, h.api, "POST", tickPath, "", "Authorization", "Bearer both", "Sec-Fetch-Site", "cross-site")
	if resp.Status != 403 {
		t.Error(resp.Status)
	}
	if resp := call(t, h.api, "GET", ingestPath, "", "Authorization", "Bearer both"); resp.Status != http.StatusMethodNotAllowed {
		t.Error(resp.Status)
	}
	all, _, err := h.survey.Support().Instances(t.Context(), "tenant", survey.Selection{SurveyID: 4523}, storage.Page{})
	if err != nil || len(all) > 0 {
		t.Error(all, err)
	}
}

// Events are those of the caller's tenant, whatever the body says.
func TestI28_ACallerTellsOfItsOwnTenant(t *testing.T) {
	t.Parallel()
	h := memoryHost(t)
	h.publish(csiGR)
	for _, body := range []string{strings.Replace(visit, `{`, `{"scope":"other",`, 1), strings.Replace(visit, `"payload"`, `"scope":"other","payload"`, 1)} {
		if status, text := h.tell(ingestPath, body); strings.Contains(text, "Created") {
			t.Error(status, text)
		}
	}
	if _, text := h.tell(ingestPath, visit); !strings.Contains(text, "Created") {
		t.Error(text)
	}
	if all, _, err := h.survey.Support().Instances(t.Context(), "tenant", survey.Selection{SurveyID: 4523}, storage.Page{}); err != nil || len(all) != 1 {
		t.Error(all, err)
	}
}

func TestAnIngestHasItsLimits(t *testing.T) {
	t.Parallel()
	h := memoryHost(t)
	h.publish(csiGR)
	many := func(n int) string {
		return `{"eventKind":"k","items":[` + strings.TrimSuffix(strings.Repeat(`{"payload":{},"recipient":{"address":"a"}},`, n), ",") + `]}`
	}
	nested := func(n int) string { // as a whole
		return `{"eventKind":"k","items":[{"payload":{"a":` + strings.Repeat("[", n-4) + strings.Repeat("]", n-4) + `},"recipient":{"address":"a"}}]}`
	}
	fill := `{"eventKind":"k","items":[]}`
	for name, c := range map[string]struct {
		body, media, coding string
		status              int
		text                string
	}{
		"500 items":           {many(500), "application/json", "", 200, `"created":0`},
		"501 items":           {many(501), "application/json", "", 400, "there are more than 500 items"},
		"no items":            {fill, "application/json; charset=utf-8", "", 200, `"items":[]`},
		"32 levels":           {nested(32), "application/json", "", 200, "NoMatch"},
		"33 levels":           {nested(33), "application/json", "", 400, "nested deeper than 32 levels"},
		"a million levels":    {strings.Repeat("[", 1<<20), "application/json", "", 400, "not JSON"},
		"1 MiB":               {fill + strings.Repeat(" ", 1<<20-len(fill)), "application/json", "", 200, `"items":[]`},
		"more than 1 MiB":     {fill + strings.Repeat(" ", 1<<20), "application/json", "", 413, "too large"},
		"gzip":                {fill, "application/json", "gzip", 415, "compressed"},
		"an unknown coding":   {fill, "application/json", "zstd", 415, "compressed"},
		"a form":              {"eventKind=k", "application/x-www-form-urlencoded", "", 415, "another media type"},
		"text":                {fill, "text/plain", "", 415, "another media type"},
		"no JSON":             {`{"eventKind"`, "application/json", "", 400, "not JSON"},
		"nothing":             {"", "application/json", "", 400, "not JSON"},
		"two values":          {fill + fill, "application/json", "", 400, "not JSON"},
		"an array":            {`[]`, "application/json", "", 400, "the body is not an object"},
		"an unknown member":   {`{"eventKind":"k","items":[],"batch":1}`, "application/json", "", 400, `a member \"batch\"`},
		"another spelling":    {`{"EventKind":"k","items":[]}`, "application/json", "", 400, `a member \"EventKind\"`},
		"a member twice":      {`{"eventKind":"k","items":[],"items":[]}`, "application/json", "", 400, `\"items\" twice`},
		"escaped twice":       {`{"eventKind":"k","items":[],"\u0069tems":[]}`, "application/json", "", 400, `\"items\" twice`},
		"no kind":             {`{"items":[]}`, "application/json", "", 400, "eventKind"},
		"an empty kind":       {`{"eventKind":"","items":[]}`, "application/json", "", 400, "eventKind"},
		"a kind with control": {`{"eventKind":"a\u001fb","items":[]}`, "application/json", "", 400, "eventKind"},
		"a number of a kind":  {`{"eventKind":7,"items":[]}`, "application/json", "", 400, "eventKind is not a text"},
		"items that are none": {`{"eventKind":"k","items":{}}`, "application/json", "", 400, "items is not an array"},
		"no UTF-8":            {"{\"eventKind\":\"\xff\",\"items\":[]}", "application/json", "", 400, "not JSON"},
	} {
		resp := call(t, h.api, "POST", ingestPath, c.body, "Content-Type", c.media, "Content-Encoding", c.coding, "Authorization", "Bearer both")
		media := "application/problem+json"
		if c.status == 200 {
			media = "application/json"
		}
		if text := resp.Body; resp.Status != c.status || !strings.Contains(text, c.text) || resp.Header.Get("Content-Type") != media {
			t.Errorf("%s: %d, want %d: %.200s", name, resp.Status, c.status, text)
		}
	}
}

// Whatever the API does not do, it says as a problem, which no cache keeps.
func TestWhatTheAPIDoesNotDoIsAProblem(t *testing.T) {
	t.Parallel()
	h := memoryHost(t)
	for _, c := range []struct {
		method, path, origin, want string
	}{
		{"GET", ingestPath, "", `{"title":"only POST","status":405}`},
		{"DELETE", tickPath, "", `{"title":"only POST","status":405}`},
		{"GET", "/api/Surveys/", "", `{"title":"there is nothing here","status":404}`},
		{"POST", tickPath, "https://elsewhere.example", `{"title":"a request of another origin","status":403}`},
		{"POST", tickPath, "", `{"title":"not signed in","status":401}`},
	} {
		got := call(t, h.api, c.method, c.path, "", "Origin", c.origin)
		header := got.Header
		if got.Body != c.want+"\n" || header.Get("Cache-Control") != "no-store" || header.Get("X-Content-Type-Options") != "nosniff" || header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s %s: %d %s %v", c.method, c.path, got.Status, got.Body, header)
		}
		if allow := header.Get("Allow"); (allow == "POST") != (got.Status == 405) {
			t.Errorf("%s %s: allow %q", c.method, c.path, allow)
		}
	}
}

// A timer outside of the host's processes turns the clock.
func TestATickSendsWhatIsDue(t *testing.T) {
	eachHost(t, func(h *host) {
		h.publish(csiGR)
		if status, text := h.tell(ingestPath, visit); status != 200 {
			h.Fatal(status, text)
		}
		for _, want := range []int{1, 0} {
			if status, text := h.tell(tickPath, ""); status != 200 || text != fmt.Sprintf("{\"processed\":%d}\n", want) {
				h.Error(status, text)
			}
		}
		if len(h.texts) != 1 {
			h.Error(h.texts)
		}
	})
}

func TestAProgramHearsToTryAgain(t *testing.T) {
	t.Parallel()
	h := memoryHost(t)
	h.publish(csiGR)
	h.tell(ingestPath, visit)
	h.store.(*storetest.Spy).SetHook(away)
	for _, path := range []string{ingestPath, tickPath} {
		if status, text := h.tell(path, visit); status != 503 || text != `{"title":"try again","status":503}`+"\n" {
			t.Error(status, text)
		}
	}
	if text := h.logged(); !strings.Contains(text, "level=ERROR") || strings.Contains(text, "40956") || strings.Contains(text, "770") {
		t.Error(text)
	}
}
