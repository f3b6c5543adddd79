package surveyhttp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage/memory"
	"github.com/belfry-go/belfry/survey"
	"github.com/belfry-go/belfry/survey/surveyhttp"
)

// fuzzed is a host with one link; what is posted is not stored.
func fuzzed(f *testing.F) (api, forms http.Handler, token string) {
	f.Helper()
	mock := clock.NewMock()
	mock.Set(start)
	store := memory.New(&memory.Options{Clock: mock})
	out := notify.New(store, nil, channel.Func("memory:default", func(context.Context, channel.Message) (channel.Receipt, error) { return channel.Receipt{}, nil }))
	s := survey.New(store, out, &survey.Options{SurveyURL: "https://host.example/s/{token}", LinkKey: bytes.Repeat([]byte("k"), 32)})
	publishTo(f, s, csiGR)
	report, err := s.Ingest(f.Context(), survey.Batch{Scope: "tenant", EventKind: "service-visit-closed", Items: []survey.Item{{
		Payload: json.RawMessage(`{"wip":"1","dealerId":"1","jobType":"GR"}`), Recipient: survey.Recipient{Address: "a", Locale: "en"},
	}}})
	if err != nil {
		f.Fatal(err)
	}
	link, err := s.Link(f.Context(), "tenant", report.Items[0].Instances[0].PublicID)
	if err != nil {
		f.Fatal(err)
	}
	return surveyhttp.API(s, letIn, nil), surveyhttp.Forms(s, nil), link[strings.LastIndexByte(link, '/')+1:]
}

// No text of a customer becomes a tag or an attribute.
var (
	tags    = regexp.MustCompile(`<[a-z][^>]*>`)
	quoted  = regexp.MustCompile(`"[^"]*"`)
	handler = regexp.MustCompile(`\s(on\w*|style|src)=?|'|.<`)
)

// FuzzFormPost posts forms: whatever is in them, the answer is a page of ours, with
// the values as text.
func FuzzFormPost(f *testing.F) {
	_, forms, token := fuzzed(f)
	for _, body := range []string{
		"", good, "q.rate=&q.has-a-complaint=maybe", "q.rate=1&q.rate=2&q.has-a-complaint=yes", "shown=complaint&shown=rate&q.complaint=%0d%0a&q.has-a-complaint=yes&q.rate=3",
		"q.name=%3Cscript%3Ealert(1)%3C/script%3E&q.hours=%22onfocus%3D", "q.complaint=%3C/textarea%3E%3Cscript%3E&q.has-a-complaint=yes&shown=complaint",
		"q.liked=people&q.liked=people&q.liked=", "q.hours=1e999999999&q.rate=0x5", "q.hours=%D9%A3%D9%AB%D9%A5", "q.name=%00%ff&q.next=2026-02-30", "%zz", "a;b", "=&=&==",
	} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		resp := call(t, forms, "POST", "/SurveyInstances/"+token+"/responses", body, "Content-Type", "application/x-www-form-urlencoded")
		page := resp.Body
		switch resp.Status {
		case 303: // it fits
			return
		case 200, 409, 422, 400, 413:
		default:
			t.Errorf("%d: %s", resp.Status, page)
		}
		if !strings.HasPrefix(page, "<!DOCTYPE html>") || !strings.HasSuffix(page, "</html>\n") {
			t.Errorf("no page: %s", page)
		}
		if n := strings.Count(page, "<script"); n > 1 || strings.Count(page, "</textarea") > 1 {
			t.Errorf("%d scripts in %s", n, page)
		}
		for _, tag := range tags.FindAllString(page, -1) {
			if handler.MatchString(quoted.ReplaceAllString(tag, "")) {
				t.Errorf("a tag that is not ours: %s", tag)
			}
		}
	})
}

// FuzzIngest posts bodies: what is answered with 200 is a batch as encoding/json reads
// it, with one report for each of its items.
func FuzzIngest(f *testing.F) {
	api, _, _ := fuzzed(f)
	for _, body := range []string{
		visit, `{"eventKind":"k","items":[]}`, `{"eventKind":"service-visit-closed","items":[{},7,null,[],"x",{"payload":null,"recipient":null}]}`,
		`{"eventKind":"service-visit-closed","items":[{"payload":{"jobType":"GR","a":{"b":[1,{"c":2}]}},"recipient":{"address":"a","locale":null},"occurredOn":"2026-05-14T05:12:34.5Z"}]}`,
		`{"\u0065ventKind":"k","items":[{"payload":{"\ud800":1},"recipient":{"address":"\ud800"}}]}`, `{"eventKind":"k","items":null}`, `[[[[`, `{"eventKind":"k" , "items" : [ ] } `,
	} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		resp := call(t, api, "POST", ingestPath, body, "Content-Type", "application/json", "Authorization", "Bearer both")
		text := resp.Body
		if resp.Status == 400 || resp.Status == 413 {
			return
		}
		var sent struct{ Items []json.RawMessage }
		var got survey.IngestReport
		if err := json.Unmarshal([]byte(body), &sent); err != nil || resp.Status != 200 {
			t.Fatal(resp.Status, text, err)
		}
		if err := json.Unmarshal([]byte(text), &got); err != nil || len(got.Items) != len(sent.Items) || got.Created+got.Skipped+got.Failed+got.NoMatch != len(sent.Items) {
			t.Error(text, err)
		}
	})
}
