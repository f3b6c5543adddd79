package resend

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

	"github.com/belfry-go/belfry/internal/standardwebhooks"
	"github.com/belfry-go/belfry/notify/channel"
)

// server speaks Resend's API: it validates, takes each key once, and accepts or answers
// what its script says before or after that.
type server struct {
	url          string
	before, then func(w http.ResponseWriter, r *http.Request) bool // true: it has answered

	mu       sync.Mutex
	requests int
	mails    []email
	answers  map[string]string // by key: the body that was sent, and the id
}

const apiKey = "re_canary-key"

func serve(t *testing.T, before func(http.ResponseWriter, *http.Request) bool) *server {
	t.Helper()
	s := &server{before: before, answers: map[string]string{}}
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
	if s.before != nil && s.before(w, r) {
		return
	}
	id, known := s.take(w, r, body)
	if id == "" || s.then != nil && !known && s.then(w, r) {
		return
	}
	_, _ = fmt.Fprintf(w, `{"id":%q}`, id)
}

// take accepts a request once for each key. No id: it has answered.
func (s *server) take(w http.ResponseWriter, r *http.Request, body []byte) (id string, known bool) {
	var m email
	key := r.Header.Get("Idempotency-Key")
	switch {
	case r.Method != http.MethodPost || r.URL.Path != "/emails":
		fault(w, http.StatusNotFound, "not_found", "The requested endpoint does not exist.")
	case r.Header.Get("Authorization") != "Bearer "+apiKey:
		fault(w, http.StatusForbidden, "invalid_api_key", "API key is invalid.")
	case len(key) > 256 || key == "":
		fault(w, http.StatusBadRequest, "invalid_idempotency_key", "The key must be between 1-256 chars.")
	case json.Unmarshal(body, &m) != nil || m.From == "" || len(m.To) == 0 || m.Subject == "" || m.Text+m.HTML == "":
		fault(w, http.StatusUnprocessableEntity, "missing_required_field", "The request body is missing one or more required fields.")
	case !strings.Contains(m.To[0], "@"):
		fault(w, http.StatusUnprocessableEntity, "validation_error", "Invalid `to` field: "+m.To[0])
	default:
		return s.keep(w, key, string(body), m)
	}
	return "", false
}

func (s *server) keep(w http.ResponseWriter, key, body string, m email) (id string, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, known := s.answers[key]
	if known && before != body {
		fault(w, http.StatusConflict, "invalid_idempotent_request", "Same idempotency key used with a different request payload.")
		return "", true
	}
	if !known {
		s.answers[key] = body
		s.mails = append(s.mails, m)
	}
	return "49a3999c-" + key, known
}

// fault answers with the documented body of an error.
func fault(w http.ResponseWriter, status int, name, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"statusCode": status, "name": name, "message": message})
}

func (s *server) seen() (requests int, mails []email) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests, append([]email{}, s.mails...)
}

const (
	id     = "0123456789abcdef0123456789abcdef"
	secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
)

var now = time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)

func message() channel.Message {
	return channel.Message{ID: id, To: "sam@canary.example", Name: "Sam", Subject: "Your certificate", Text: "It expires soon.", On: now,
		Metadata: map[string]string{"class": "canary"}}
}

// open makes a channel to the server that lasts as long as the test.
func open(t *testing.T, s *server, o Options) *Channel {
	t.Helper()
	o.From, o.BaseURL = "School <office@school.example>", s.url
	c, err := New(apiKey, &o)
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
	return open(t, s, Options{}), func() int { n, _ := s.seen(); return n }
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

// callback is the signed delivery of an event, which is JSON.
func callback(t testing.TB, secret, eventID string, at time.Time, body string) channel.WebhookRequest {
	t.Helper()
	keys, err := standardwebhooks.ParseKeys(secret)
	if err != nil {
		t.Fatal(err)
	}
	signed, h := keys.Header(eventID, at, []byte(body)), http.Header{}
	for standard, theirs := range names {
		h.Set(theirs, signed.Get(standard))
	}
	return channel.WebhookRequest{Method: http.MethodPost, URL: "https://school.example/webhooks/resend", Header: h, Body: []byte(body), Now: at}
}

func webhook(t testing.TB, secrets ...string) *Webhook {
	t.Helper()
	w, err := NewWebhook(secrets...)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
