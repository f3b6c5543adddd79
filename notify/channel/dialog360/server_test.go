package dialog360

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/belfry-go/belfry/notify/channel"
)

const (
	id     = "0123456789abcdef0123456789abcdef"
	wamid  = "wamid.HBgLNDE3OTMwMjY3MjcVAgARGBI5QTNDQTVCM0Q0Q0Q2RTY3RTcA"
	apiKey = "d360-test-key"
	secret = "Basic c2Nob29sOmxvbmctcmFuZG9t"
)

var now = time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)

// server speaks the Messaging API: it validates as WhatsApp does, and accepts or
// answers what its script says.
type server struct {
	url    string
	script func(w http.ResponseWriter, r *http.Request) bool // true: it has answered

	mu       sync.Mutex
	requests int
	messages []messageRequest
}

func serve(t *testing.T, script func(http.ResponseWriter, *http.Request) bool) *server {
	t.Helper()
	s := &server{script: script}
	h := httptest.NewServer(http.HandlerFunc(s.answer))
	t.Cleanup(h.Close)
	s.url = h.URL
	return s
}

func (s *server) answer(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.requests++
	s.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	if s.script != nil && s.script(w, r) {
		return
	}
	var m messageRequest
	d := json.NewDecoder(strings.NewReader(string(body)))
	d.DisallowUnknownFields()
	switch {
	case r.Method != http.MethodPost || r.URL.Path != "/messages" || r.Header.Get("Content-Type") != "application/json":
		write(w, http.StatusNotFound, `{"error":"not found"}`)
	case r.Header.Get("D360-API-KEY") != apiKey:
		write(w, http.StatusUnauthorized, `{"meta":{"api_status":"stable","http_code":401,"developer_message":"Invalid api_key"}}`)
	case d.Decode(&m) != nil || m.fault():
		write(w, http.StatusBadRequest, fault(100))
	default:
		s.mu.Lock()
		s.messages = append(s.messages, m)
		s.mu.Unlock()
		write(w, http.StatusOK, `{"messaging_product":"whatsapp","contacts":[{"input":"`+m.To+`","wa_id":"41793026727"}],"messages":[{"id":"`+wamid+`","message_status":"accepted"}]}`)
	}
}

func (m messageRequest) fault() bool {
	return m.Product != "whatsapp" || m.Recipient != "individual" || m.To == "" || len(m.Ours) > 512 ||
		m.Type == "text" && (m.Text == nil || m.Text.Body == "" || m.Template != nil) ||
		m.Type == "template" && (m.Template == nil || m.Template.Name == "" || m.Template.Language.Code == "" || m.Text != nil)
}

func write(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

// fault is the documented body of an error of Meta.
func fault(code int) string {
	text, err := json.Marshal(map[string]any{"error": map[string]any{"message": "(#x) about +41793026727", "type": "OAuthException", "code": code,
		"error_data": map[string]string{"messaging_product": "whatsapp", "details": "about +41793026727"}, "fbtrace_id": "AfNHQ"}})
	if err != nil {
		panic(err)
	}
	return string(text)
}

func (s *server) seen() (requests int, messages []messageRequest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests, append([]messageRequest{}, s.messages...)
}

func message() channel.Message {
	return channel.Message{ID: id, To: "+41793026727", Name: "Sam", Subject: "Your certificate", Text: "It expires soon.", On: now,
		Metadata: map[string]string{"class": "canary"}}
}

// open makes a channel to the server that lasts as long as the test.
func open(t *testing.T, s *server, o Options) *Channel {
	t.Helper()
	o.BaseURL = s.url
	c, err := New(apiKey, &o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// refuse expects m to be refused, and returns how.
func refuse(t *testing.T, c *Channel, m channel.Message) *channel.Error {
	t.Helper()
	receipt, err := c.Send(t.Context(), m)
	typed, ok := err.(*channel.Error)
	if !ok || receipt != (channel.Receipt{}) {
		t.Fatalf("Send: %+v, %v", receipt, err)
	}
	if strings.Contains(err.Error(), "41793026727") || strings.Contains(err.Error(), "canary") || strings.Contains(err.Error(), apiKey) {
		t.Errorf("the error holds what it must not: %v", err)
	}
	return typed
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
