package channeltest

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/belfry-go/belfry/notify/channel"
)

const (
	canary = "zinnober-canary"
	// patience is the real-time limit for something that must happen. A channel's own
	// timeout is longer.
	patience = 25 * time.Second
)

// trial is one subtest: a provider with a script, and the channel that calls it.
type trial struct {
	t       *testing.T
	h       Harness
	at      Provider
	server  *server
	channel channel.Channel
}

func newTrial(t *testing.T, h Harness) *trial {
	t.Helper()
	s := newServer(t, h)
	tr := &trial{t: t, h: h, server: s, at: Provider{URL: s.URL, TLS: s.Client().Transport.(*http.Transport).TLSClientConfig.Clone()}}
	tr.at.TLS.NextProtos = nil // the channel says what it speaks
	tr.open(tr.at)
	return tr
}

// open replaces the channel by one that calls elsewhere.
func (tr *trial) open(at Provider) {
	tr.t.Helper()
	tr.at = at
	tr.opened(tr.h.Open)
	if b, ok := tr.channel.(channel.BatchSend); ok && b.MaxBatch() > 1 && tr.h.Batch == nil {
		tr.t.Error("channeltest: the channel takes batches: Harness needs Batch")
	}
}

// opened replaces the channel.
func (tr *trial) opened(open func(*testing.T, Provider) channel.Channel) {
	tr.t.Helper()
	tr.channel = open(tr.t, tr.at)
	if c, ok := tr.channel.(io.Closer); ok {
		tr.t.Cleanup(func() { _ = c.Close() })
	}
}

// message is one that the provider accepts, with an id of its own.
func (tr *trial) message(number int) channel.Message {
	m := tr.h.Message(tr.at)
	m.ID = fmt.Sprintf("%032x", number)
	m.Name, m.Text = "Sam "+canary, canary+" "+m.ID
	m.Attempt, m.On = 1, time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)
	m.Metadata = map[string]string{"class": canary}
	return m
}

// send makes one call, which must return soon after its context has ended, and returns
// its error as the sender understands it.
func (tr *trial) send(ctx context.Context, m channel.Message) *channel.Error {
	tr.t.Helper()
	type outcome struct {
		receipt channel.Receipt
		err     error
	}
	done := make(chan outcome, 1)
	go func() {
		receipt, err := tr.channel.Send(ctx, m)
		done <- outcome{receipt, err}
	}()
	overdue, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	select {
	case <-overdue.Done():
		tr.t.Fatalf("Send has not returned after %v", patience)
		return nil
	case o := <-done:
		if o.err != nil && o.receipt != (channel.Receipt{}) {
			tr.t.Errorf("Send returns both a receipt and %v", o.err)
		}
		tr.innocent(o.err, m)
		return channel.Classify(o.err)
	}
}

// innocent fails an error that contains a credential or personal data.
func (tr *trial) innocent(err error, m channel.Message) {
	tr.t.Helper()
	if err == nil {
		return
	}
	text := err.Error() + " " + channel.Classify(err).Code
	for _, held := range append([]string{strings.TrimPrefix(m.To, "+"), canary, "X-Injected"}, tr.h.Secrets...) {
		if held != "" && strings.Contains(text, held) {
			tr.t.Errorf("the error holds %q: %s", held, text)
		}
	}
}

// is fails unless e has the class; nil means accepted.
func (tr *trial) is(e *channel.Error, want channel.Class) {
	tr.t.Helper()
	got := accepted
	if e != nil {
		got = e.Class
	}
	if got != want {
		tr.t.Errorf("%s, want %s: %v", got, want, e)
	}
}

// blames fails unless e blames one of them.
func (tr *trial) blames(e *channel.Error, want ...channel.Fault) {
	tr.t.Helper()
	if e == nil {
		return // is has said so
	}
	for _, w := range want {
		if e.Fault == w {
			return
		}
	}
	tr.t.Errorf("blames %q, want one of %q: %v", e.Fault, want, e)
}

// requests fails unless so many could deliver.
func (tr *trial) requests(want int) {
	tr.t.Helper()
	if got := len(tr.server.seen()); got != want {
		tr.t.Errorf("%d requests that could deliver, want %d", got, want)
	}
}

// delivery is a request that could deliver.
type delivery struct {
	text   string
	header http.Header
}

// server is a provider with a script for the requests that could deliver.
type server struct {
	*httptest.Server
	h Harness

	mu         sync.Mutex
	script     http.HandlerFunc // nil: Accept
	deliveries []delivery
	delivering int // requests
}

func newServer(t *testing.T, h Harness) *server {
	t.Helper()
	s := &server{h: h}
	s.Server = httptest.NewUnstartedServer(s)
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // handshakes fail on purpose
	s.EnableHTTP2 = h.HTTP2
	s.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

// answers is how requests that could deliver are answered from now on.
func (s *server) answers(script http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = script
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler) // half a request delivers nothing
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	texts := s.read(r, body)
	script := s.h.Accept
	s.mu.Lock()
	if len(texts) > 0 {
		s.delivering++
		for _, text := range texts {
			s.deliveries = append(s.deliveries, delivery{text, r.Header.Clone()})
		}
		if s.script != nil {
			script = s.script
		}
	}
	s.mu.Unlock()
	script(w, r)
}

// read is what the recipients of a request would read; none: it could deliver nothing.
func (s *server) read(r *http.Request, body []byte) []string {
	if s.h.Batch != nil {
		if texts := s.h.Batch.Read(r, body); len(texts) > 0 {
			return texts
		}
	}
	if text, delivers := s.h.Read(r, body); delivers {
		return []string{text}
	}
	return nil
}

// calls is how many requests could deliver, whatever they had.
func (s *server) calls() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.delivering
}

func (s *server) seen() []delivery {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]delivery(nil), s.deliveries...)
}
