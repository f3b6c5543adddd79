package chaostest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/belfry-go/belfry/notify/channel"
)

const channelKey = "email:chaos"

// call is one request for a provider call, as it came in.
type call struct {
	ID      string
	Attempt int
	To      string
}

// provider is a process that is never killed: it logs every call before it
// answers, and can be asked what it accepted.
type provider struct {
	*httptest.Server
	mu       sync.Mutex
	calls    []call
	accepted map[string]bool
	cut      map[string]bool // by ID: the caller was killed before the answer
	muted    chan struct{}   // while it is there, answers wait until it is closed
	arrived  chan struct{}   // receives once for each call, if there is room
}

func newProvider(t *testing.T) *provider {
	p := &provider{accepted: map[string]bool{}, cut: map[string]bool{}, arrived: make(chan struct{}, 1<<16)}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /send", p.send)
	mux.HandleFunc("GET /lookup", p.lookup)
	p.Server = httptest.NewServer(mux)
	t.Cleanup(p.Close)
	return p
}

func (p *provider) send(w http.ResponseWriter, r *http.Request) {
	var c call
	if err := json.NewDecoder(r.Body).Decode(&c); err != nil {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	p.mu.Lock()
	p.calls = append(p.calls, c)
	p.accepted[c.ID] = true
	muted := p.muted
	p.mu.Unlock()
	p.arrived <- struct{}{}
	if muted != nil {
		select {
		case <-muted:
		case <-r.Context().Done():
			p.mu.Lock()
			p.cut[c.ID] = true
			p.mu.Unlock()
			return
		}
	}
	w.WriteHeader(http.StatusAccepted)
}

// mute has calls wait for their answer until unmute is called.
func (p *provider) mute() (unmute func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	muted := make(chan struct{})
	p.muted = muted
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.muted = nil
		close(muted)
	}
}

func (p *provider) lookup(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.accepted[r.URL.Query().Get("id")] {
		w.WriteHeader(http.StatusNotFound)
	}
}

// log is what was called so far.
func (p *provider) log() []call {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]call(nil), p.calls...)
}

// client is the channel of the workers.
type client struct{ url string }

func (c *client) Key() string { return channelKey }

func (c *client) Send(ctx context.Context, m channel.Message) (channel.Receipt, error) {
	body, err := json.Marshal(call{m.ID, m.Attempt, m.To})
	if err != nil {
		return channel.Receipt{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+"/send", io.NopCloser(bytes.NewReader(body)))
	if err != nil {
		return channel.Receipt{}, err
	}
	req.GetBody = nil // the transport must not send it again
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return channel.Receipt{}, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusAccepted {
		return channel.Receipt{}, fmt.Errorf("provider answered %d", resp.StatusCode)
	}
	return channel.Receipt{ID: "p-" + m.ID}, nil
}

// LookupWindow is zero: the provider forgets nothing.
func (c *client) LookupWindow() time.Duration { return 0 }

func (c *client) Lookup(ctx context.Context, m channel.Message) (channel.LookupResult, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url+"/lookup?id="+m.ID, nil)
	if err != nil {
		return channel.LookupResult{}, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return channel.LookupResult{}, err
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusOK:
		return channel.LookupResult{Status: channel.LookupAccepted, Receipt: channel.Receipt{ID: "p-" + m.ID}}, nil
	case http.StatusNotFound:
		return channel.LookupResult{Status: channel.LookupAbsent}, nil
	}
	return channel.LookupResult{}, errors.New("provider cannot tell")
}
