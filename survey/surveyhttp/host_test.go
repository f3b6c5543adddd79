package surveyhttp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/survey"
	"github.com/belfry-go/belfry/survey/surveyhttp"
)

// csiGR is the document's survey, with a question of each kind of control.
const csiGR = `{
	"title": {"en": "Your visit", "ar": "زيارتك"},
	"thanks": {"en": "See you soon.", "ar": "نراك قريبًا."},
	"questions": [
		{"id": "rate", "type": "rating", "min": 1, "max": 10, "metric": "csat", "required": true, "label": {"en": "How was it?", "ar": "كيف كانت؟"}},
		{"id": "has-a-complaint", "type": "yesNo", "required": true, "label": {"en": "Have you a complaint?", "ar": "هل لديك شكوى؟"}},
		{"id": "complaint", "type": "longText", "required": true, "label": {"en": "What went wrong?", "ar": "ما الخطأ؟"},
			"when": {"questionId": "has-a-complaint", "op": "==", "value": "yes"}},
		{"id": "hours", "type": "number", "min": 0, "max": 99.5, "label": {"en": "Hours you waited", "ar": "ساعات الانتظار"}},
		{"id": "name", "type": "text", "maxLength": 20, "label": {"en": "Your name", "ar": "اسمك"}, "help": {"en": "If you like.", "ar": "إن أردت."}},
		{"id": "by", "type": "choice", "label": {"en": "How did you come?", "ar": "كيف جئت؟"},
			"options": [{"value": "car", "label": {"en": "By car", "ar": "بالسيارة"}}, {"value": "bus", "label": {"en": "By bus", "ar": "بالحافلة"}}]},
		{"id": "liked", "type": "multiple", "max": 2, "label": {"en": "What did you like?", "ar": "ماذا أعجبك؟"},
			"options": [{"value": "people"}, {"value": "coffee"}, {"value": "price"}]},
		{"id": "next", "type": "date", "label": {"en": "Next visit", "ar": "الزيارة القادمة"}}
	],
	"triggers": [{
		"id": "csi-gr-trigger", "enabled": true, "eventKind": "service-visit-closed",
		"filter": {"questionId": "candidate.jobType", "op": "==", "value": "GR"},
		"dedupRecipe": ["templateId", "recipient.address", "candidate.dealerId", "candidate.wip"],
		"schedule": {"initialDelay": "0d", "reminders": ["1d"]},
		"channel": "memory:default"
	}]
}`

// start is the moment of the document's event.
var start = time.Date(2026, 5, 14, 5, 12, 34, 0, time.UTC)

// host is a site that serves surveys.
type host struct {
	*testing.T
	clock  *clock.Mock
	store  storage.Store
	survey *survey.Service
	poller *belfry.Poller
	api    http.Handler
	forms  http.Handler
	log    *bytes.Buffer

	publicID string // of the last visit's instance

	mu    sync.Mutex
	texts []string // of what was sent
}

// letIn lets a program in that knows the password.
func letIn(r *http.Request) (surveyhttp.Caller, error) {
	switch r.Header.Get("Authorization") {
	case "Bearer both":
		return surveyhttp.Caller{Scope: "tenant", Ingest: true, Tick: true}, nil
	case "Bearer neither":
		return surveyhttp.Caller{Scope: "tenant"}, nil
	}
	return surveyhttp.Caller{}, errors.New("who is that?")
}

// eachHost runs test on a host on each adapter.
func eachHost(t *testing.T, test func(*host)) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, store storage.Store, mock *clock.Mock) {
		mock.Set(start)
		test(newHost(t, store, mock))
	})
}

func newHost(t *testing.T, store storage.Store, mock *clock.Mock) *host {
	h := &host{T: t, clock: mock, store: store, log: new(bytes.Buffer)}
	logger := logTo(&locked{h: h})
	out := notify.New(store, &notify.Options{Logger: logger}, channel.Func("memory:default", h.send))
	h.survey = survey.New(store, out, &survey.Options{
		SurveyURL: "https://host.example/s/{token}", LinkKey: bytes.Repeat([]byte("k"), 32), Logger: logger,
	})
	h.poller = belfry.NewPoller(store, nil, h.survey, out)
	h.api = surveyhttp.API(h.survey, letIn, &surveyhttp.APIOptions{Logger: logger})
	h.forms = surveyhttp.Forms(h.survey, &surveyhttp.FormOptions{Logger: logger})
	return h
}

func logTo(w io.Writer) *slog.Logger { return slog.New(slog.NewTextHandler(w, nil)) }

// locked is the host's log.
type locked struct{ h *host }

func (l *locked) Write(p []byte) (int, error) {
	l.h.mu.Lock()
	defer l.h.mu.Unlock()
	return l.h.log.Write(p)
}

func (h *host) send(_ context.Context, m channel.Message) (channel.Receipt, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.texts = append(h.texts, m.Text)
	return channel.Receipt{ID: "mem-" + m.ID}, nil
}

// publish publishes a definition as survey 4523.
func (h *host) publish(definition string) {
	h.Helper()
	publishTo(h, h.survey, definition)
}

func publishTo(t testing.TB, s *survey.Service, definition string) {
	t.Helper()
	if _, err := s.Publish(t.Context(), survey.Version{
		Scope: "tenant", SurveyID: 4523, Name: "E2E CSI-GR", IntegrationID: "csi-gr", Definition: json.RawMessage(definition),
	}); err != nil {
		t.Fatal(err)
	}
}

var tokenIn = regexp.MustCompile(`host\.example/s/([^\s?"<]+)`)

// link publishes the survey, tells of a visit, and gives the token of the link that
// went out.
func (h *host) link(locale string) string {
	h.Helper()
	h.publish(csiGR)
	return h.visit("40956", locale)
}

// visit tells of one more visit.
func (h *host) visit(wip, locale string) string {
	h.Helper()
	return h.visitOf(`{"wip":"`+wip+`","dealerId":"1","jobType":"GR"}`, survey.Recipient{Address: "+964 770 000 0001", Locale: locale, CustomerRef: "cust-123"})
}

// visitOf tells of a visit with that payload.
func (h *host) visitOf(payload string, by survey.Recipient) string {
	h.Helper()
	report, err := h.survey.Ingest(h.Context(), survey.Batch{Scope: "tenant", EventKind: "service-visit-closed", Items: []survey.Item{{
		Payload: json.RawMessage(payload), Recipient: by,
	}}})
	if err != nil || report.Items[0].Outcome != survey.Created {
		h.Fatal(report, err)
	}
	h.publicID = report.Items[0].Instances[0].PublicID
	h.drain()
	h.mu.Lock()
	defer h.mu.Unlock()
	found := tokenIn.FindStringSubmatch(h.texts[len(h.texts)-1])
	if found == nil {
		h.Fatalf("no link in %q", h.texts)
	}
	return found[1]
}

// drain polls until nothing is due.
func (h *host) drain() {
	h.Helper()
	if err := h.poller.Drain(h.Context()); err != nil {
		h.Fatal(err)
	}
}

// instance is the instance of the last visit.
func (h *host) instance() survey.Instance {
	h.Helper()
	got, _, err := h.survey.Support().Instance(h.Context(), "tenant", h.publicID)
	if err != nil {
		h.Fatal(err)
	}
	return got
}

// logged is what the host's log holds.
func (h *host) logged() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.log.String()
}

// answers are those that were taken, as JSON; empty if none were.
func (h *host) answers() string {
	h.Helper()
	got, err := h.survey.Responses().Get(h.Context(), "tenant", h.publicID)
	if errors.Is(err, storage.ErrNotFound) {
		return ""
	}
	if err != nil {
		h.Fatal(err)
	}
	return string(got.Answers)
}

// answer is all that a caller sees.
type answer struct {
	Status int
	Header http.Header
	Body   string
}

// call is one request. Headers that are empty are left out.
func call(t testing.TB, handler http.Handler, method, path, body string, header ...string) answer {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	for i := 0; i < len(header); i += 2 {
		if header[i+1] != "" {
			r.Header.Set(header[i], header[i+1])
		}
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return answer{w.Code, w.Header(), w.Body.String()}
}

// get, form and post are the requests of a customer; they give status and body.
func (h *host) get(path string) (int, string) {
	h.Helper()
	resp := call(h, h.forms, "GET", path, "")
	return resp.Status, resp.Body
}

func (h *host) form(token, values string) (int, string) {
	h.Helper()
	resp := call(h, h.forms, "POST", "/SurveyInstances/"+token+"/responses", values, "Content-Type", "application/x-www-form-urlencoded")
	if resp.Status == http.StatusSeeOther { // as a browser does
		return h.get(path.Join("/SurveyInstances", token, resp.Header.Get("Location")))
	}
	return resp.Status, resp.Body
}

func (h *host) post(token, body string) (int, string) {
	h.Helper()
	resp := call(h, h.forms, "POST", "/SurveyInstances/"+token+"/responses", body, "Content-Type", "application/json")
	return resp.Status, resp.Body
}
