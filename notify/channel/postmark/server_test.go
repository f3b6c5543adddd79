package postmark

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/channel/internal/rest"
)

// server speaks Postmark's API: it validates, accepts, and finds what it accepted; or
// answers what its script says, before or after that.
type server struct {
	url          string
	before, then func(w http.ResponseWriter, r *http.Request) bool // true: it has answered
	date         time.Time                                         // of its answers; zero is now

	mu       sync.Mutex
	requests int
	mails    []email
}

const token = "3f9c6b1e-canary-token"

func serve(t *testing.T, before func(http.ResponseWriter, *http.Request) bool) *server {
	t.Helper()
	s := &server{before: before, date: now}
	h := httptest.NewServer(http.HandlerFunc(s.answer))
	t.Cleanup(h.Close)
	s.url = h.URL
	return s
}

func (s *server) answer(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	s.requests++
	s.mu.Unlock()
	w.Header().Set("Date", s.date.Format(http.TimeFormat))
	if s.before != nil && s.before(w, r) {
		return
	}
	switch at := r.Method + " " + r.URL.Path; {
	case r.Header.Get("X-Postmark-Server-Token") != token:
		fault(w, http.StatusUnauthorized, 10, "No Account or Server API tokens were supplied in the HTTP headers.")
	case r.Header.Get("Accept") != "application/json":
		fault(w, http.StatusUnsupportedMediaType, 0, "unsupported")
	case at == "GET /messages/outbound":
		s.search(w, r)
	case at == "POST /email":
		var m email
		if json.Unmarshal(body, &m) != nil {
			fault(w, http.StatusUnprocessableEntity, 402, "Invalid JSON")
		} else if code, text := s.send(m); code != 0 {
			fault(w, http.StatusUnprocessableEntity, code, text)
		} else if s.then == nil || !s.then(w, r) {
			_ = json.NewEncoder(w).Encode(accepted(text))
		}
	case at == "POST /email/batch":
		s.sendBatch(w, r, body)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// send accepts a mail and gives its id, or the code and the text of its fault.
func (s *server) send(m email) (code int, text string) {
	switch {
	case m.From == "" || m.Text+m.HTML == "" || !strings.Contains(m.To, "@"):
		return 300, "Invalid email request: " + m.To
	case strings.Contains(m.To, "inactive@"):
		return 406, "You tried to send to recipients that have been marked as inactive: " + m.To
	case m.MessageStream != "outbound" && m.MessageStream != "broadcast":
		return 1235, "The 'MessageStream' provided does not exist on this server."
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mails = append(s.mails, m)
	return 0, fmt.Sprintf("b7bc2f4a-%d", len(s.mails))
}

func accepted(id string) map[string]any {
	return map[string]any{"To": "sam@canary.example", "SubmittedAt": "2026-03-01T08:00:00Z", "MessageID": id, "ErrorCode": 0, "Message": "OK"}
}

// sendBatch answers for each mail.
func (s *server) sendBatch(w http.ResponseWriter, r *http.Request, body []byte) {
	var mails []email
	if json.Unmarshal(body, &mails) != nil || len(mails) > 500 {
		fault(w, http.StatusUnprocessableEntity, 402, "Invalid JSON")
		return
	}
	answers := []map[string]any{}
	for _, m := range mails {
		code, text := s.send(m)
		one := accepted(text)
		if code != 0 {
			one = map[string]any{"ErrorCode": code, "Message": text}
		}
		answers = append(answers, one)
	}
	if s.then == nil || !s.then(w, r) {
		_ = json.NewEncoder(w).Encode(answers)
	}
}

func (s *server) search(w http.ResponseWriter, r *http.Request) {
	found := []map[string]any{}
	for i, m := range s.sent() {
		if m.Metadata["belfry_message"] == r.FormValue("metadata_belfry_message") && m.MessageStream == r.FormValue("messagestream") {
			found = append(found, map[string]any{"MessageID": fmt.Sprintf("b7bc2f4a-%d", i+1), "Status": "Sent", "Subject": m.Subject, "Metadata": m.Metadata})
		}
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"TotalCount": len(found), "Messages": found})
}

// fault answers with the documented body of an error.
func fault(w http.ResponseWriter, status, code int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"ErrorCode": code, "Message": message})
}

func (s *server) sent() []email {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]email{}, s.mails...)
}

func (s *server) asked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests
}

const (
	id       = "0123456789abcdef0123456789abcdef"
	password = "a-long-random-password"
)

var now = time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)

func letter() channel.Message {
	return channel.Message{ID: id, To: "sam@canary.example", Name: "Sam", Subject: "Your certificate", Text: "It expires soon.", On: now, Attempt: 1,
		Metadata: map[string]string{"class": "canary"}}
}

// open makes a channel to the server that lasts as long as the test.
func open(t *testing.T, s *server, o Options) *Channel {
	t.Helper()
	o.From, o.BaseURL = "School <office@school.example>", s.url
	c, err := New(token, &o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// answering is the script that answers so, whatever comes.
func answering(answer http.HandlerFunc) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		answer(w, r)
		return true
	}
}

func opened(t *testing.T, answer http.HandlerFunc) (channel.Channel, func() int) {
	s := serve(t, answering(answer))
	return open(t, s, Options{}), s.asked
}

// refuse expects m to be refused, and returns how.
func refuse(t *testing.T, c *Channel, m channel.Message) *channel.Error {
	t.Helper()
	receipt, err := c.Send(t.Context(), m)
	typed, ok := err.(*channel.Error)
	if !ok || receipt != (channel.Receipt{}) {
		t.Fatalf("Send: %+v, %v", receipt, err)
	}
	return typed
}

// callback is the delivery of an event, which is JSON.
func callback(password, body string) channel.WebhookRequest {
	h := http.Header{}
	rest.Basic("postmark", password)(h)
	return channel.WebhookRequest{Method: http.MethodPost, URL: "https://school.example/webhooks/postmark", Header: h, Body: []byte(body), Now: now}
}

func webhook(t testing.TB) *Webhook {
	t.Helper()
	w, err := NewWebhook("postmark", password)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
