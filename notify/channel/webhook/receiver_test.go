package webhook

import (
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/belfry-go/belfry/notify/channel"
)

const (
	id     = "0123456789abcdef0123456789abcdef"
	secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
)

var now = time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)

// receiver verifies as the standard says, remembers ids, and answers what its
// script says.
type receiver struct {
	url    string
	server *httptest.Server
	script func(w http.ResponseWriter, r *http.Request) bool // true: it has answered

	mu       sync.Mutex
	requests int
	bodies   map[string]string // by id
	repeats  int
}

func receive(t *testing.T, script func(http.ResponseWriter, *http.Request) bool) *receiver {
	t.Helper()
	s := &receiver{script: script, bodies: map[string]string{}}
	s.server = httptest.NewUnstartedServer(http.HandlerFunc(s.answer))
	s.server.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.server.StartTLS()
	t.Cleanup(s.server.Close)
	s.url = s.server.URL + "/hooks/canary?token=canary"
	return s
}

func (s *receiver) answer(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	if s.script != nil && s.script(w, r) {
		return
	}
	if r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" || Verify(secret, r.Header, body, now) != nil {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	known := r.Header.Get("webhook-id")
	if _, repeated := s.bodies[known]; repeated {
		s.repeats++
	}
	s.bodies[known] = string(body)
	w.WriteHeader(http.StatusNoContent)
}

func (s *receiver) seen() (requests, repeats int, bodies map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests, s.repeats, s.bodies
}

func (s *receiver) message() channel.Message {
	return channel.Message{ID: id, To: s.url, Name: "Sam", Subject: "Your certificate", Text: "It expires <soon>.", On: now, Attempt: 1}
}

// open makes a channel that trusts this machine, and may call the server's port, for as long as the test lasts.
func open(t *testing.T, s *receiver, o Options) *Channel {
	t.Helper()
	if o.SecretsOf == nil && o.Secrets == nil {
		o.Secrets = []string{secret}
	}
	if o.Trusted == nil {
		o.Trusted = []string{"127.0.0.1"}
	}
	if o.TLSConfig == nil {
		o.TLSConfig = s.server.Client().Transport.(*http.Transport).TLSClientConfig
	}
	if o.Ports == nil {
		o.Ports = []int{s.server.Listener.Addr().(*net.TCPAddr).Port}
	}
	c, err := New(&o)
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
	for _, secret := range []string{"canary", "127.0.0.1", "localhost", "invalid", "MfKQ"} {
		if strings.Contains(err.Error(), secret) {
			t.Errorf("the error holds %s: %v", secret, err)
		}
	}
	return typed
}
