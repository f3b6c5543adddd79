package supporthttp_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/support"
	"github.com/belfry-go/belfry/support/supporthttp"
)

// document is the part of the OpenAPI document that is looked at here.
type document struct {
	OpenAPI string
	Paths   map[string]map[string]struct {
		OperationID string
		Summary     string
		Parameters  []struct{ Name, In, Description string }
		RequestBody struct {
			Content map[string]struct{ Schema map[string]string }
		}
		Responses map[string]struct {
			Content map[string]struct{ Schema map[string]string }
		}
	}
}

var readDocument = sync.OnceValue(func() (d document) {
	if err := json.Unmarshal(supporthttp.OpenAPI(), &d); err != nil {
		panic(err)
	}
	return d
})

// schemaAt compiles a schema of the document, which in OpenAPI 3.1 is a JSON Schema.
func schemaAt(ref string) (*jsonschema.Schema, error) {
	text, err := jsonschema.UnmarshalJSON(bytes.NewReader(supporthttp.OpenAPI()))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("openapi.json", text); err != nil {
		return nil, err
	}
	return c.Compile("openapi.json" + ref)
}

// fits compares a text with a schema of the document.
func fits(ref, text string) error {
	schema, err := schemaAt(ref)
	if err != nil {
		return err
	}
	instance, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return err
	}
	return schema.Validate(instance)
}

// documented compares an answer of the API with the document: what succeeds is what it
// says, and what does not is a problem.
func (o *office) documented(r *http.Request, w *httptest.ResponseRecorder) {
	o.Helper()
	_, path, is := strings.Cut(r.URL.Path, "/api/v1/")
	if !is {
		return
	}
	media, status := w.Header().Get("Content-Type"), "default"
	ref := "#/components/schemas/Problem"
	if w.Code == http.StatusOK {
		status = "200"
	}
	if op, known := readDocument().Paths["/api/v1/"+path][strings.ToLower(r.Method)]; known {
		content, says := op.Responses[status].Content[media]
		if ref = content.Schema["$ref"]; !says {
			o.Errorf("%s %s: %d with %q is not in the document", r.Method, path, w.Code, media)
			return
		}
	} else if w.Code == http.StatusOK {
		o.Errorf("%s %s is not in the document", r.Method, path)
		return
	}
	if err := fits(ref, w.Body.String()); err != nil {
		o.Errorf("%s %s: %v: %s", r.Method, path, err, w.Body)
	}
}

// Every route of the API and every method is in the document, and nothing else; each says
// what it does, and so does each of its parameters.
func TestTheDocumentHasEveryRoute(t *testing.T) {
	t.Parallel()
	var want, got []string
	for _, r := range supporthttp.Routes() {
		if method, path, _ := strings.Cut(r, " "); strings.HasPrefix(path, "api/v1/") {
			want = append(want, method+" /"+path)
		}
	}
	ids := map[string]bool{}
	for path, methods := range readDocument().Paths {
		for method, op := range methods {
			got = append(got, strings.ToUpper(method)+" "+path)
			if ids[op.OperationID] || op.Summary == "" {
				t.Errorf("%s %s: its id is %q, it says %q", method, path, op.OperationID, op.Summary)
			}
			ids[op.OperationID] = true
			for _, p := range op.Parameters {
				if p.Description == "" {
					t.Errorf("%s %s: %s says nothing", method, path, p.Name)
				}
			}
			if has := op.RequestBody.Content["application/json"].Schema["$ref"] != ""; has != (method == "post") {
				t.Errorf("%s %s has a body: %t", method, path, has)
			}
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(want, got) || len(want) < 8+len(support.Lists()) {
		t.Errorf("routes %v\ndocument %v", want, got)
	}
	if readDocument().OpenAPI != "3.1.0" {
		t.Error(readDocument().OpenAPI)
	}
}

// The handler serves the document, and what the tests send is as it says.
func TestTheDocumentIsServedAndKnowsWhatIsSent(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	answer, body := o.ask(o.site(everything), "GET", "/support/openapi.json", "")
	if answer.StatusCode != http.StatusOK || body != string(supporthttp.OpenAPI()) {
		t.Errorf("%d %.200s", answer.StatusCode, body)
	}
	ref := readDocument().Paths["/api/v1/act"]["post"].RequestBody.Content["application/json"].Schema["$ref"]
	if err := fits(ref, o.requests()["POST api/v1/act"]); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{`{}`, `{"action":"Explode","targets":[],"reason":"r"}`, `{"action":"Release","targets":[],"reason":"r","more":1}`} {
		if err := fits(ref, bad); err == nil {
			t.Errorf("%s fits", bad)
		}
	}
}

// The same Idempotency-Key gets the same answer and does nothing; another body under it,
// and a key that is none, are refused.
func TestARequestOfTheAPIIsDoneOnce(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	h := o.site(everything)
	body := func(action, reason string) string {
		return fmt.Sprintf(`{"action":%q,"targets":[{"kind":"Reminder","key":%q}],"reason":%q}`, action, o.reminder, reason)
	}
	_, first := o.ask(h, "POST", "/api/v1/act", body("Release", "a call"), "Idempotency-Key", "k-1")
	if !strings.Contains(first, `"done":1`) {
		t.Fatal(first)
	}
	for range 2 {
		if answer, again := o.ask(h, "POST", "/api/v1/act", body("Release", "a call"), "Idempotency-Key", "k-1"); answer.StatusCode != http.StatusOK || again != first {
			t.Errorf("%d %s", answer.StatusCode, again)
		}
	}
	if _, another := o.ask(h, "POST", "/api/v1/act", body("Release", "a call"), "Idempotency-Key", "k-2"); !strings.Contains(another, `"done":0`) {
		t.Error("another key: ", another)
	}
	for key, text := range map[string]string{"k-1": body("Release", "another"), "a b": body("Release", "a call"), "": body("Release", "a call"), strings.Repeat("k", 201): body("Release", "a call")} {
		if answer, got := o.ask(h, "POST", "/api/v1/act", text, "Idempotency-Key", key); answer.StatusCode != http.StatusUnprocessableEntity {
			t.Errorf("%.10q: %d %s", key, answer.StatusCode, got)
		}
	}
	blind := everything
	blind.Personal = false
	erase := fmt.Sprintf(`{"action":"Erase","targets":[{"kind":"Person","key":%q}],"reason":"r","dryRun":true}`, person)
	if answer, got := o.ask(o.site(blind), "POST", "/api/v1/act", erase); answer.StatusCode != http.StatusForbidden {
		t.Errorf("who may not see the person erases them: %d %s", answer.StatusCode, got)
	}
}

// Every list is read page by page, without a row twice or left out, and has nothing of
// another tenant.
func TestListsAreReadPageByPage(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	held, err := o.reminders.Ensure(t.Context(), automation.Candidate{Scope: everything.Scope, Type: "certificate",
		Source: automation.Source{Type: "employee", ID: "same-cause"}, TargetDate: automation.Date{Year: 2026, Month: 8, Day: 1}, DaysBefore: 7})
	o.must(err)
	o.must(o.reminders.Support().Hold(t.Context(), everything.Scope, held[0].Key, automation.By{Actor: "sam", Reason: "as the other one"}))
	h, west := o.site(everything), everything
	west.Scope = "west"
	read := func(h http.Handler, l support.List, limit int) (rows []string) {
		after := ""
		for range 50 {
			_, body := o.ask(h, "GET", fmt.Sprintf("/api/v1/%s?limit=%d&after=%s", l, limit, after), "")
			var page struct {
				Rows  []json.RawMessage
				After string
			}
			o.must(json.Unmarshal([]byte(body), &page))
			for _, r := range page.Rows {
				rows = append(rows, string(r))
			}
			if after = page.After; after == "" {
				return rows
			}
		}
		t.Errorf("%s has no end", l)
		return rows
	}
	for l, want := range map[support.List]int{support.Reminders: 3, support.Messages: 2, support.Links: 1, support.Doubts: 1, support.Pauses: 1, support.Replans: 1, support.Holds: 2, support.Audit: 3} {
		all := read(h, l, 100)
		if len(all) < want || len(all) == 0 || !slices.Equal(all, read(h, l, 1)) {
			t.Errorf("%s: %d rows: %v", l, len(all), all)
		}
		if rows := read(o.site(west), l, 100); len(rows) > 0 {
			t.Errorf("%s in the west: %v", l, rows)
		}
	}
	for _, query := range []string{"after=zz", "after=~AAAA", "limit=0", "limit=101"} {
		for _, l := range support.Lists() {
			if answer, body := o.ask(h, "GET", "/api/v1/"+string(l)+"?"+query, ""); answer.StatusCode >= 500 {
				t.Errorf("%s %s: %d %s", l, query, answer.StatusCode, body)
			}
		}
	}
	if answer, _ := o.ask(h, "GET", "/list?of=nothing", ""); answer.StatusCode != http.StatusNotFound {
		t.Error(answer.StatusCode)
	}
}
