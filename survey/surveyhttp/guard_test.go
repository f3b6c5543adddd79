package surveyhttp_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/storage/memory"
	"github.com/belfry-go/belfry/survey"
	"github.com/belfry-go/belfry/survey/surveyhttp"
)

// memoryHost is a host in memory, for what no adapter has a part in.
func memoryHost(t *testing.T) *host {
	t.Helper()
	mock := clock.NewMock()
	mock.Set(start)
	return newHost(t, &storetest.Spy{Store: memory.New(&memory.Options{Clock: mock})}, mock)
}

// away is the hook of a store whose database is away.
func away(storetest.Call) error { return errors.New("the database is away") }

// Every answer forbids what a page of a secret address must not do: be kept, be
// framed, tell its address, run or load what is not its own.
func TestEveryAnswerIsGuarded(t *testing.T) {
	t.Parallel()
	h := memoryHost(t)
	token := h.link("en")
	const form = "application/x-www-form-urlencoded"
	for _, c := range []struct{ method, path, body, media string }{
		{"GET", "/s/" + token, "", ""}, {"HEAD", "/s/" + token, "", ""}, {"GET", "/s/unknown", "", ""}, {"GET", "/", "", ""}, {"PUT", "/s/" + token, "", ""},
		{"POST", "/s/" + token + "/opened", "", ""},
		{"POST", "/SurveyInstances/" + token + "/responses", "q.rate=0", form}, {"POST", "/SurveyInstances/" + token + "/responses", "%", form},
		{"POST", "/SurveyInstances/" + token + "/responses", "{", "application/json"}, {"POST", "/SurveyInstances/" + token + "/responses", "", "image/png"},
		{"POST", "/SurveyInstances/" + token + "/responses", good, form}, {"GET", "/s/" + token, "", ""},
	} {
		resp := call(t, h.forms, c.method, c.path, c.body, "Content-Type", c.media)
		kept := "no-store"
		if c.method == "POST" && strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html") {
			kept = "private, no-cache" // by the customer's own browser, for Back
		}
		for name, want := range map[string]string{
			"Cache-Control": kept, "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff", "X-Robots-Tag": "noindex, nofollow",
		} {
			if got := resp.Header.Get(name); got != want {
				t.Errorf("%s %.20s: %s is %q", c.method, c.path, name, got)
			}
		}
		policy := resp.Header.Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'", "script-src 'sha256-", "style-src 'sha256-"} {
			if !strings.Contains(policy, want) {
				t.Errorf("%s %.20s: no %s in %q", c.method, c.path, want, policy)
			}
		}
		if strings.Contains(policy, "unsafe") || strings.Contains(policy, "*") {
			t.Errorf("the policy allows anything: %q", policy)
		}
		if cookies := resp.Header["Set-Cookie"]; len(cookies) > 0 {
			t.Error(cookies)
		}
	}
}

// What cannot be a form is not looked at, and nothing of it is kept.
func TestABodyHasToBeOne(t *testing.T) {
	t.Parallel()
	h := memoryHost(t)
	token := h.link("en")
	const form, json = "application/x-www-form-urlencoded", "application/json"
	for name, c := range map[string]struct {
		body, media, coding string
		status              int
	}{
		"a large form":          {good + "&x=" + strings.Repeat("x", 128<<10), form, "", 413},
		"large JSON":            {`{"answers":{"rate":9,"has-a-complaint":"no"}}` + strings.Repeat(" ", 128<<10), json, "", 413},
		"a compressed form":     {good, form, "gzip", 415},
		"compressed JSON":       {`{"answers":{}}`, json, "br", 415},
		"two codings":           {good, form, "identity, gzip", 415},
		"a coding of no name":   {good, form, "x-mine", 415},
		"a multipart form":      {"--x\r\n", "multipart/form-data; boundary=x", "", 415},
		"no media type":         {good, "", "", 415},
		"text":                  {good, "text/plain", "", 415},
		"a broken form":         {"q.rate=%zz", form, "", 400},
		"broken JSON":           {`{"answers":{}`, json, "", 400},
		"two values":            {`{"answers":{}} {}`, json, "", 400},
		"an unknown member":     {`{"answers":{},"token":"x"}`, json, "", 400},
		"another spelling":      {`{"Answers":{}}`, json, "", 400},
		"a member twice":        {`{"answers":{},"answers":{}}`, json, "", 400},
		"no answers":            {`{}`, json, "", 400},
		"an array":              {`[]`, json, "", 400},
		"no UTF-8":              {"{\"answers\":{\"name\":\"\xff\"}}", json, "", 400},
		"deeper than 32 levels": {`{"answers":` + strings.Repeat("[", 32) + strings.Repeat("]", 32) + `}`, json, "", 400},
		"meta of another kind":  {`{"answers":{},"meta":{"agentId":7}}`, json, "", 400},
		"a moment that is none": {`{"answers":{},"meta":{"completedAt":"soon"}}`, json, "", 400},
	} {
		resp := call(t, h.forms, "POST", "/SurveyInstances/"+token+"/responses", c.body, "Content-Type", c.media, "Content-Encoding", c.coding)
		text := resp.Body
		if resp.Status != c.status {
			t.Errorf("%s: %d, want %d: %.200s", name, resp.Status, c.status, text)
		}
		if want := map[bool]string{true: "application/problem+json", false: "text/html; charset=utf-8"}[c.media == json]; resp.Header.Get("Content-Type") != want {
			t.Errorf("%s: %s", name, resp.Header.Get("Content-Type"))
		}
		if c.coding != "" && resp.Header.Get("Accept-Encoding") != "identity" {
			t.Errorf("%s: does not say what it takes", name)
		}
	}
	if got := h.answers(); got != "" {
		t.Errorf("%s was stored", got)
	}
	if resp := call(t, h.forms, "POST", "/SurveyInstances/"+token+"/responses", good, "Content-Type", form+"; charset=utf-8", "Content-Encoding", "identity"); resp.Status != 303 {
		t.Error(resp.Status)
	}
}

// The limiter is asked first: it keeps the database from being asked.
func TestTheLimiterIsAskedFirst(t *testing.T) {
	t.Parallel()
	h := memoryHost(t)
	token := h.link("en")
	h.store.(*storetest.Spy).SetHook(away)
	var asked []string
	h.forms = surveyhttp.Forms(h.survey, &surveyhttp.FormOptions{Limit: func(r *http.Request) error {
		asked = append(asked, r.Method)
		return errors.New("a secret of the limiter")
	}})
	for _, path := range []string{"/s/" + token, "/s/unknown", "/"} {
		if status, page := h.get(path); status != 429 || !strings.Contains(page, "Please try again") || strings.Contains(page, "limiter") {
			t.Error(path, status, page)
		}
	}
	if status, body := h.post(token, `{"answers":{}}`); status != 429 || body != `{"title":"try again later","status":429}`+"\n" {
		t.Error(status, body)
	}
	if len(asked) != 4 {
		t.Error(asked)
	}
}

// When the database is away a customer hears to try again, and the log says why
// without the link.
func TestAFailureIsLoggedWithoutTheLink(t *testing.T) {
	t.Parallel()
	h := memoryHost(t)
	token := h.link("en")
	h.store.(*storetest.Spy).SetHook(away)
	const canary = "canary-in-the-answers"
	if status, page := h.get("/s/" + token); status != 503 || !strings.Contains(page, "Please try again") {
		t.Error(status, page)
	}
	if status, page := h.form(token, good+"&q.name="+canary); status != 503 {
		t.Error(status, page)
	}
	if status, body := h.post(token, `{"answers":{"name":"`+canary+`"}}`); status != 503 || body != `{"title":"try again later","status":503}`+"\n" {
		t.Error(status, body)
	}
	if resp := call(t, h.forms, "POST", "/s/"+token+"/opened", ""); resp.Status != 503 {
		t.Error(resp.Status)
	}
	text := h.logged()
	if !strings.Contains(text, "level=ERROR") || strings.Contains(text, token) || strings.Contains(text, canary) || strings.Contains(text, h.publicID) {
		t.Error(text)
	}
}

func TestProgrammersErrorsPanic(t *testing.T) {
	t.Parallel()
	s := survey.New(memory.New(nil), nil, nil)
	for name, f := range map[string]func(){
		"API without a service":     func() { surveyhttp.API(nil, letIn, nil) },
		"API without an authoriser": func() { surveyhttp.API(s, nil, nil) },
		"Forms without a service":   func() { surveyhttp.Forms(nil, nil) },
		"results in a zone that a URL cannot name": func() {
			surveyhttp.Results(s, desk, &surveyhttp.ResultOptions{Zone: time.FixedZone("UTC+1", 3600)})
		},
		"texts for no locale": func() {
			surveyhttp.Forms(s, &surveyhttp.FormOptions{Texts: map[string]surveyhttp.Texts{"": {}}})
		},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s does not panic", name)
				}
			}()
			f()
		}()
	}
}

// The handler works below another path.
func TestFormsAreMountedBelowAPath(t *testing.T) {
	t.Parallel()
	h := memoryHost(t)
	token := h.link("en")
	server := httptest.NewServer(http.StripPrefix("/ask", h.forms))
	defer server.Close()
	for path, method := range map[string]string{
		"/ask/s/" + token: "GET", "/ask/s/" + token + "/opened": "POST", "/ask/SurveyInstances/" + token + "/responses": "POST",
	} {
		resp := call(t, server.Config.Handler, method, path, good, "Content-Type", "application/x-www-form-urlencoded")
		if resp.Status > 303 {
			t.Error(method, path, resp.Status)
		}
	}
	// A browser is led to the page that says thanks, and one that restores its tab as well.
	for _, path := range []string{"/ask/SurveyInstances/" + token + "/responses", "/ask/s/" + token + "?sent"} {
		resp, err := http.Get(server.URL + path) //nolint:noctx // a test's
		if err != nil {
			t.Fatal(err)
		}
		if resp.Body.Close(); resp.StatusCode != 200 || resp.Request.URL.Path != "/ask/s/"+token {
			t.Error(path, resp.StatusCode, resp.Request.URL)
		}
	}
}

// Whoever does not say how much comes is stopped at the same bound.
func TestABodyOfUnknownLengthIsBounded(t *testing.T) {
	t.Parallel()
	h := memoryHost(t)
	token := h.link("en")
	for _, c := range []struct {
		handler           http.Handler
		path, body, media string
	}{
		{h.forms, "/SurveyInstances/" + token + "/responses", good + "&x=" + strings.Repeat("x", 128<<10), "application/x-www-form-urlencoded"},
		{h.api, ingestPath, `{"eventKind":"k","items":[]}` + strings.Repeat(" ", 1<<20), "application/json"},
	} {
		r := httptest.NewRequestWithContext(t.Context(), "POST", c.path, io.MultiReader(strings.NewReader(c.body)))
		r.Header.Set("Content-Type", c.media)
		r.Header.Set("Authorization", "Bearer both")
		w := httptest.NewRecorder()
		c.handler.ServeHTTP(w, r)
		if r.ContentLength != -1 || w.Code != 413 {
			t.Errorf("%s: %d bytes: %d", c.path, r.ContentLength, w.Code)
		}
	}
}
