package notifyhttp_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/notifyhttp"
	"github.com/belfry-go/belfry/notify/templates"
	"github.com/belfry-go/belfry/storage/memory"
)

func previewing(t *testing.T, o notifyhttp.PreviewsOptions) (table *templates.Table, get func(path, user string) (int, string, http.Header)) {
	store := memory.New(nil)
	n := notify.New(store, nil)
	table = templates.NewTable(store)
	o.Templates = table
	n.Register(notify.Type{Name: "visit", Renderer: templates.From(table)})
	o.Samples = []notifyhttp.Sample{{Job: notify.Job{Scope: "sample", Type: "visit", EventData: json.RawMessage(`{"Car":"<script>alert(1)</script>"}`)}, Recipient: notify.Recipient{Name: "Sam"}}}
	h := http.StripPrefix("/previews", notifyhttp.Previews(n, o))
	return table, func(path, user string) (int, string, http.Header) {
		t.Helper()
		w := httptest.NewRecorder()
		r := httptest.NewRequest("GET", "/previews"+path, nil)
		r.Header.Set("User", user)
		h.ServeHTTP(w, r)
		return w.Code, w.Body.String(), w.Header()
	}
}

func put(t *testing.T, table *templates.Table, scope notify.Scope, subject string) {
	t.Helper()
	set := templates.Set{Default: "en", Locales: map[string]notify.Template{
		"en": {Subject: subject, Text: "{{.Car}}", HTML: "<p>{{.Car}}</p>"}, "de": {Subject: "Wagen {{.Recipient.Name}}", Text: "{{.Car}}"}}}
	if _, err := table.Put(t.Context(), scope, "visit", set, notify.By{Actor: "kim", Reason: "new words"}); err != nil {
		t.Fatal(err)
	}
}

func TestAPreviewShowsEachLocaleAndVersion(t *testing.T) {
	t.Parallel()
	table, get := previewing(t, notifyhttp.PreviewsOptions{Development: true, Locales: []string{"en", "de"}})
	if _, page, _ := get("/1", ""); !strings.Contains(page, `role="alert"`) {
		t.Error("no templates:", page)
	}
	put(t, table, "sample", "First")
	put(t, table, "sample", "Second {{.Missing}}")
	for path, want := range map[string]string{
		"/": `<a href="1">visit</a>`, "/1": `role="alert"`, "/1?version=1": "<dd lang=\"en\" dir=\"auto\">First</dd>", "/1?locale=de-AT&version=1": "Wagen Sam", "/1?version=7": `role="alert"`,
		"/1?locale=de&version=1": `<a href="?locale=de&amp;version=1" lang="de" aria-current="true">de</a>`, "/1?version=2": `<a href="?locale=en&amp;version=2" lang="en">en</a>`,
	} {
		status, page, header := get(path, "")
		if status != 200 || !strings.Contains(page, want) || strings.Contains(page, "<script>") || !strings.HasPrefix(header.Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%s: %d %s", path, status, page)
		}
	}
	status, part, header := get("/1/html?version=1", "")
	if status != 200 || !strings.Contains(part, "&lt;script&gt;") || !strings.HasPrefix(header.Get("Content-Security-Policy"), "sandbox; default-src 'none'") {
		t.Error(status, part, header)
	}
	for _, path := range []string{"/0", "/2", "/x", "/1/html", "/1/html?version=9"} {
		if status, _, _ := get(path, ""); status != 404 {
			t.Errorf("%s: %d", path, status)
		}
	}
}

func TestPreviewsWithoutATableHaveNoVersions(t *testing.T) {
	t.Parallel()
	h := notifyhttp.Previews(notify.New(memory.New(nil), nil), notifyhttp.PreviewsOptions{Development: true, Samples: []notifyhttp.Sample{{Job: notify.Job{Type: "visit"}}}})
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/1?version=1", nil))
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "so there are no versions") {
		t.Error(w.Code, w.Body)
	}
}

func TestPreviewsAskWhoIsCalling(t *testing.T) {
	t.Parallel()
	table, get := previewing(t, notifyhttp.PreviewsOptions{Development: true, Authorise: func(r *http.Request) (notifyhttp.Caller, error) {
		if r.Header.Get("User") == "" {
			return notifyhttp.Caller{}, errors.New("nobody")
		}
		if r.Header.Get("User") == "zero" {
			return notifyhttp.Caller{}, nil
		}
		return notifyhttp.Caller{Scope: "tenant"}, nil
	}})
	put(t, table, "sample", "Of another tenant")
	put(t, table, "tenant", "Of this tenant")
	for _, path := range []string{"/", "/1", "/1/html"} {
		for _, user := range []string{"", "zero"} {
			if status, _, _ := get(path, user); status != 401 {
				t.Errorf("%s by %q: %d", path, user, status)
			}
		}
	}
	if _, page, _ := get("/1", "kim"); !strings.Contains(page, "Of this tenant") {
		t.Error(page)
	}
	defer func() {
		if recover() == nil {
			t.Error("it works for anybody")
		}
	}()
	notifyhttp.Previews(notify.New(memory.New(nil), nil), notifyhttp.PreviewsOptions{})
}
