package infobip

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

// server speaks the SMS and WhatsApp APIs: it validates as Infobip does, accepts
// or answers what its script says, keeps logs, and refuses an id that it has had.
type server struct {
	url    string
	script func(w http.ResponseWriter, r *http.Request) bool // true: it has answered

	mu       sync.Mutex
	requests int
	bodies   map[string]string   // by message id
	logs     []map[string]string // messageId, groupName, name
}

const apiKey = "test-key"

func serve(t *testing.T, script func(http.ResponseWriter, *http.Request) bool) *server {
	t.Helper()
	s := &server{script: script, bodies: map[string]string{}}
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
	switch {
	case r.Header.Get("Authorization") != "App "+apiKey:
		fault(w, http.StatusUnauthorized, "UNAUTHORIZED", "Invalid login details")
	case r.Method == http.MethodGet && (r.URL.Path == "/sms/3/logs" || r.URL.Path == "/whatsapp/2/logs"):
		s.answerLogs(w, r.URL.Query().Get("messageId"))
	case r.Method != http.MethodPost:
		fault(w, http.StatusMethodNotAllowed, "METHOD_NOT_ALLOWED", "Method not allowed")
	case r.Header.Get("Content-Type") != "application/json":
		fault(w, http.StatusUnsupportedMediaType, "UNSUPPORTED_MEDIA_TYPE", "Unsupported media type")
	default:
		s.take(w, r.URL.Path, body)
	}
}

// take validates and accepts a message.
func (s *server) take(w http.ResponseWriter, path string, body []byte) {
	id, to, why := read3(path, body)
	if why != "" {
		fault(w, http.StatusBadRequest, "BAD_REQUEST", why)
		return
	}
	group, name := pending, "PENDING_ACCEPTED"
	s.mu.Lock()
	if s.bodies[id] != "" {
		group, name = rejected, duplicate
	} else {
		s.bodies[id] = string(body)
	}
	s.logs = append(s.logs, map[string]string{"messageId": id, "groupName": group, "name": name})
	s.mu.Unlock()
	m := answered(id, to, group, name)
	if path == "/whatsapp/1/message/text" {
		write(w, http.StatusOK, m)
		return
	}
	write(w, http.StatusOK, map[string]any{"bulkId": "b1", "messages": []any{m}})
}

// read3 reads a request of any of the three forms, as far as it is documented.
func read3(path string, body []byte) (id, to, why string) {
	var one whatsAppMessage
	var texts smsMessages
	var chats struct {
		Messages []struct {
			whatsAppMessage
			Content template `json:"content"`
		} `json:"messages"`
	}
	switch path {
	case "/sms/3/messages":
		if json.Unmarshal(body, &texts) != nil || len(texts.Messages) != 1 || len(texts.Messages[0].Destinations) != 1 || texts.Messages[0].Content.Text == "" {
			return "", "", "messages : [must not be empty]"
		}
		d := texts.Messages[0].Destinations[0]
		id, to = d.MessageID, d.To
	case "/whatsapp/1/message/text":
		if json.Unmarshal(body, &one) != nil || one.From == "" {
			return "", "", "content : [must not be null]"
		}
		id, to = one.MessageID, one.To
	case "/whatsapp/1/message/template":
		if json.Unmarshal(body, &chats) != nil || len(chats.Messages) != 1 || chats.Messages[0].Content.TemplateData.Body.Placeholders == nil || chats.Messages[0].Content.Language == "" {
			return "", "", "messages[0].content : [must not be null]"
		}
		id, to = chats.Messages[0].MessageID, chats.Messages[0].To
	default:
		return "", "", "no such path"
	}
	if strings.Trim(to, "0123456789") != "" || len(to) < 5 {
		return "", "", "to : [is not a number] " + to
	}
	return id, to, ""
}

func answered(id, to, group, name string) map[string]any {
	return map[string]any{"to": to, "messageCount": 1, "messageId": id,
		"status": map[string]any{"groupId": 1, "groupName": group, "id": 26, "name": name, "description": "Message to " + to}}
}

func (s *server) answerLogs(w http.ResponseWriter, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	results := []any{}
	for _, l := range s.logs {
		if l["messageId"] == id {
			results = append(results, answered(id, "41793026727", l["groupName"], l["name"]))
		}
	}
	write(w, http.StatusOK, map[string]any{"results": results})
}

func write(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

// fault answers with the documented body of an error.
func fault(w http.ResponseWriter, status int, messageID, text string) {
	write(w, status, map[string]any{"requestError": map[string]any{"serviceException": map[string]any{"messageId": messageID, "text": text}}})
}

func (s *server) seen() (requests int, bodies map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests, s.bodies
}

// callback is a report with BASIC credentials.
func callback(body string) channel.WebhookRequest {
	r := channel.WebhookRequest{Method: http.MethodPost, URL: "https://school.example/hooks/infobip", Header: http.Header{}, Body: []byte(body), Now: now}
	r.Header.Set("Authorization", "Basic c2Nob29sOnNlc2FtZQ==") // school:sesame
	return r
}

const id = "0123456789abcdef0123456789abcdef"

var now = time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)

func message() channel.Message {
	return channel.Message{ID: id, To: "+41793026727", Name: "Sam", Subject: "Your certificate", Text: "It expires soon.", On: now, Attempt: 1}
}

// sms makes a channel to the server that lasts as long as the test.
func sms(t *testing.T, s *server, o Options) *Channel {
	t.Helper()
	o.From = "School"
	c, err := NewSMS(s.url, apiKey, &o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func whatsApp(t *testing.T, s *server) *Channel {
	t.Helper()
	c, err := NewWhatsApp(s.url, apiKey, &Options{From: "+447860099299"})
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
	return typed
}

func webhook(t *testing.T, o WebhookOptions) *Webhook {
	t.Helper()
	w, err := NewWebhook(o)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

var basicOptions = WebhookOptions{Username: "school", Password: "sesame"}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
