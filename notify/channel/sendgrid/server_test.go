package sendgrid

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/belfry-go/belfry/notify/channel"
)

// server speaks the Mail Send API: it validates as SendGrid does, accepts or
// answers what its script says, and signs the events of what it accepted.
type server struct {
	url    string
	script func(w http.ResponseWriter, r *http.Request) bool // true: it has answered
	key    *ecdsa.PrivateKey

	mu       sync.Mutex
	requests int
	mails    []mailRequest
}

const apiKey = "SG.canary-key"

func serve(t *testing.T, script func(http.ResponseWriter, *http.Request) bool) *server {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	s := &server{script: script, key: key}
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
	var m mailRequest
	switch {
	case r.URL.Path != "/v3/mail/send":
		fault(w, http.StatusNotFound, "", "Not found")
	case r.Method != http.MethodPost:
		fault(w, http.StatusMethodNotAllowed, "", "method not allowed")
	case r.Header.Get("Authorization") != "Bearer "+apiKey:
		fault(w, http.StatusUnauthorized, "", "The provided authorization grant is invalid, expired, or revoked")
	case r.Header.Get("Content-Type") != "application/json":
		fault(w, http.StatusUnsupportedMediaType, "", "Content-Type should be application/json.")
	case json.Unmarshal(body, &m) != nil:
		fault(w, http.StatusBadRequest, "", "Bad Request")
	default:
		if field, why := m.fault(); why != "" {
			fault(w, http.StatusBadRequest, field, why)
			return
		}
		s.mu.Lock()
		s.mails = append(s.mails, m)
		s.mu.Unlock()
		w.Header().Set("X-Message-Id", "LRzXl_NHStOGhQ4kofSm_A")
		w.WriteHeader(http.StatusAccepted)
	}
}

// fault answers with the documented body of an error.
func fault(w http.ResponseWriter, status int, field, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(problem(field, message))
}

func problem(field, message string) map[string]any {
	e := map[string]any{"message": message, "field": nil, "help": nil}
	if field != "" {
		e["field"] = field
	}
	return map[string]any{"errors": []any{e}}
}

// reserved are headers that a request must not hold.
var reserved = "x-sg-id x-sg-eid received dkim-signature content-type content-transfer-encoding to from subject reply-to cc bcc"

// fault validates as the reference says.
func (m mailRequest) fault() (field, why string) {
	switch {
	case len(m.Personalizations) != 1 || len(m.Personalizations[0].To) != 1:
		return "personalizations", "The personalizations field is required and must have at least one personalization."
	case !strings.Contains(m.Personalizations[0].To[0].Email, "@"):
		return "personalizations.0.to.0.email", "Does not contain a valid address: " + m.Personalizations[0].To[0].Email
	case m.From == nil || m.From.Email == "":
		return "from.email", "The from object must be provided for every email send."
	case m.Subject == "":
		return "subject", "The subject is required."
	case len(m.Content) == 0 || m.Content[0].Value == "":
		return "content", "Unless a valid template_id is provided, the content parameter is required."
	case len(m.Content) == 2 && (m.Content[0].Type != "text/plain" || m.Content[1].Type != "text/html"):
		return "content", "If present, text/plain and text/html may only be provided once."
	}
	for name := range m.Headers {
		if strings.Contains(reserved, strings.ToLower(name)) {
			return "headers", "The header is reserved."
		}
	}
	for _, a := range m.Attachments {
		if len(a.Content) == 0 || a.Filename == "" || a.Disposition == "inline" && a.ContentID == "" {
			return "attachments", "The attachment content is required."
		}
	}
	return "", ""
}

func (s *server) seen() (requests int, mails []mailRequest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests, append([]mailRequest{}, s.mails...)
}

// callback is the signed delivery of the events, which are JSON.
func (s *server) callback(t *testing.T, at time.Time, events string) channel.WebhookRequest {
	t.Helper()
	timestamp := strconv.FormatInt(at.Unix(), 10)
	sum := sha256.Sum256([]byte(timestamp + events))
	signature, err := ecdsa.SignASN1(rand.Reader, s.key, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	h := http.Header{}
	h.Set(timestampHeader, timestamp)
	h.Set(signatureHeader, base64.StdEncoding.EncodeToString(signature))
	return channel.WebhookRequest{Method: http.MethodPost, URL: "https://school.example/hooks/sendgrid", Header: h, Body: []byte(events), Now: at}
}

func (s *server) publicKey(t *testing.T) string {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(&s.key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(der)
}

const id = "0123456789abcdef0123456789abcdef"

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

func webhook(t *testing.T, s *server) *Webhook {
	t.Helper()
	w, err := NewWebhook(s.publicKey(t))
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
