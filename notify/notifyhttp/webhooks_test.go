package notifyhttp_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/notifyhttp"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
)

// acme is a provider that signs the time, the address and the body.
type acme struct{ key string }

func (acme) Provider() string { return "acme" }

func (a acme) sign(at time.Time, url string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(a.key))
	fmt.Fprintf(mac, "%d.%s.%s", at.Unix(), url, body)
	return hex.EncodeToString(mac.Sum(nil))
}

func (a acme) Events(r channel.WebhookRequest) ([]channel.StatusEvent, error) {
	seconds, err := strconv.ParseInt(r.Header.Get("Acme-Time"), 10, 64)
	at := time.Unix(seconds, 0)
	proof := a.sign(at, r.URL, r.Body)
	if err != nil || a.key == "" || !hmac.Equal([]byte(proof), []byte(r.Header.Get("Acme-Signature"))) || r.Now.Sub(at).Abs() > 5*time.Minute {
		return nil, channel.ErrWebhookRefused
	}
	if bytes.Equal(r.Body, []byte("panic")) {
		panic("canary@example.com")
	}
	var events []channel.StatusEvent
	if err := json.Unmarshal(r.Body, &events); err != nil {
		return nil, fmt.Errorf("canary@example.com: %w", err)
	}
	return events, nil
}

// site is a host's application that has sent one message, and is called back.
type site struct {
	t       *testing.T
	n       *notify.Notifier
	clk     *clock.Mock
	url     string
	log     *bytes.Buffer
	counted *counts
	message notify.OutgoingMessage
}

func sites(t *testing.T, opts notifyhttp.WebhookOptions, story func(s *site)) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) { story(newSite(t, store, clk, opts)) })
}

func newSite(t *testing.T, store storage.Store, clk *clock.Mock, opts notifyhttp.WebhookOptions) *site {
	s := &site{t: t, clk: clk, log: &bytes.Buffer{}, counted: &counts{n: map[string]int64{}}}
	opts.Logger = slog.New(slog.NewTextHandler(s.log, nil))
	opts.MeterProvider = s.counted
	s.n = notify.New(store, &notify.Options{Logger: opts.Logger})
	_, err := s.n.EnsureOutgoingMessage(t.Context(), nil, notify.OutgoingMessage{
		Scope: "tenant", Channel: "email:acme", PartitionKey: "job", NotificationType: "visit",
		RecipientRef: "sam", Address: "canary@example.com",
	})
	if err != nil {
		t.Fatal(err)
	}
	s.message = s.stored()
	server := httptest.NewServer(http.StripPrefix("/hooks", notifyhttp.Webhooks(s.n, &opts, acme{"secret"})))
	t.Cleanup(server.Close)
	s.url = server.URL + "/hooks"
	return s
}

func (s *site) stored() notify.OutgoingMessage {
	s.t.Helper()
	all, _, err := s.n.Support().AllMessages(s.t.Context(), "tenant", storage.Page{})
	if err != nil || len(all) != 1 {
		s.t.Fatal(all, err)
	}
	return all[0]
}

func (s *site) events(kinds ...channel.StatusKind) []byte {
	var all []channel.StatusEvent
	for _, k := range kinds {
		all = append(all, channel.StatusEvent{EventID: string(k), Kind: k, MessageID: s.message.MessageID})
	}
	body, err := json.Marshal(all)
	if err != nil {
		s.t.Fatal(err)
	}
	return body
}

// signed is a callback as acme sends it now.
func (s *site) signed(body []byte) *http.Request {
	s.t.Helper()
	url := s.url + "/acme?ref=7"
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Acme-Time", strconv.FormatInt(s.clk.Now().Unix(), 10))
	req.Header.Set("Acme-Signature", acme{"secret"}.sign(s.clk.Now(), url, body))
	return req
}

// post sends a request and wants an answer, which never says anything.
func (s *site) post(req *http.Request, want int) {
	s.t.Helper()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	if resp.StatusCode != want || want < 404 && len(text) > 0 {
		s.t.Errorf("%d %q, want %d", resp.StatusCode, text, want)
	}
}

func (s *site) status(want string) {
	s.t.Helper()
	if m := s.stored(); m.Status != want {
		s.t.Errorf("message is %s, want %s", m.Status, want)
	}
}

func (s *site) same(want, got any) {
	s.t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		s.t.Error(diff)
	}
}

func TestACallbackIsTracked(t *testing.T) {
	sites(t, notifyhttp.WebhookOptions{}, func(s *site) {
		s.post(s.signed(s.events(channel.KindDelivered, channel.KindComplained)), 204)
		s.status(notify.StatusDelivered)
		rows, _, err := s.n.Contacts().Suppressed(s.t.Context(), "tenant", storage.Page{})
		if err != nil || len(rows) != 1 || rows[0].Source != "acme" {
			s.t.Error(rows, err)
		}
	})
}

func TestAForgedCallbackIsRefused(t *testing.T) {
	sites(t, notifyhttp.WebhookOptions{}, func(s *site) {
		body := s.events(channel.KindDelivered)
		for name, forge := range map[string]func(*http.Request){
			"no signature": func(r *http.Request) { r.Header.Del("Acme-Signature") },
			"another key": func(r *http.Request) {
				r.Header.Set("Acme-Signature", acme{"guess"}.sign(s.clk.Now(), r.URL.String(), body))
			},
			"another body": func(r *http.Request) {
				other := s.signed(s.events(channel.KindOpened))
				r.Body, r.ContentLength = other.Body, other.ContentLength
			},
			"another address": func(r *http.Request) { r.URL.RawQuery = "ref=8" },
			"another time":    func(r *http.Request) { r.Header.Set("Acme-Time", strconv.FormatInt(s.clk.Now().Unix()+1, 10)) },
		} {
			req := s.signed(body)
			forge(req)
			s.t.Log(name)
			s.post(req, 403)
		}
		s.status(notify.StatusCreated)
	})
}

func TestAWebhookWithoutAKeyFailsClosed(t *testing.T) {
	t.Parallel()
	n := notify.New(memory.New(nil), nil)
	w := httptest.NewRecorder()
	req := httptest.NewRequest(http.MethodPost, "/acme", strings.NewReader("[]"))
	req.Header.Set("Acme-Time", "0")
	req.Header.Set("Acme-Signature", acme{}.sign(time.Unix(0, 0), "http://example.com/acme", []byte("[]")))
	notifyhttp.Webhooks(n, &notifyhttp.WebhookOptions{Logger: slog.New(slog.DiscardHandler)}, acme{}).ServeHTTP(w, req)
	if w.Code != 403 {
		t.Error(w.Code)
	}
}

func TestAStaleCallbackIsRefused(t *testing.T) {
	sites(t, notifyhttp.WebhookOptions{}, func(s *site) {
		req := s.signed(s.events(channel.KindDelivered))
		s.clk.Add(6 * time.Minute)
		s.post(req, 403)
		s.status(notify.StatusCreated)
	})
}

// The same events under a fresh signature, as a provider repeats them.
func TestAReplayedCallbackChangesNothing(t *testing.T) {
	sites(t, notifyhttp.WebhookOptions{}, func(s *site) {
		body := s.events(channel.KindComplained)
		s.post(s.signed(body), 204)
		by := notify.By{Actor: "kim", Reason: "they asked for it"}
		if err := s.n.Contacts().Unsuppress(s.t.Context(), "tenant", notify.Destination{Method: "email", Address: "canary@example.com"}, by); err != nil {
			s.t.Fatal(err)
		}
		before := s.stored()
		s.clk.Add(24 * time.Hour)
		s.post(s.signed(body), 204)
		rows, _, err := s.n.Contacts().Suppressed(s.t.Context(), "tenant", storage.Page{})
		if err != nil || len(rows) != 0 {
			s.t.Error(rows, err)
		}
		s.same(before, s.stored())
		s.same(map[string]int64{"callbacks acme taken": 2, "events acme applied": 1, "events acme repeated": 1}, s.counted.all())
	})
}

func TestConcurrentDuplicatesOfACallbackAreOne(t *testing.T) {
	sites(t, notifyhttp.WebhookOptions{Concurrency: 4}, func(s *site) {
		var wg sync.WaitGroup
		for range 10 {
			req := s.signed(s.events(channel.KindDelivered, channel.KindBounced))
			wg.Go(func() { s.post(req, 204) })
		}
		wg.Wait()
		s.same(map[string]int64{"callbacks acme taken": 10, "events acme applied": 2, "events acme repeated": 18}, s.counted.all())
	})
}

func TestABodyOfFiftyMegabytesIsRefused(t *testing.T) {
	sites(t, notifyhttp.WebhookOptions{MaxBody: 2000}, func(s *site) {
		s.post(s.signed(bytes.Repeat([]byte(" "), 2001)), 413)
		read := 0
		req := s.signed(nil)
		req.Body = io.NopCloser(&endless{left: 50 << 20, read: &read}) // of unknown length
		req.ContentLength = -1
		if resp, err := http.DefaultClient.Do(req); err == nil { // else the server has hung up, which is as well
			resp.Body.Close()
			s.same(413, resp.StatusCode)
		}
		if read > 10<<20 {
			s.t.Errorf("the server took %d bytes", read)
		}
		fits := s.events(channel.KindDelivered)
		fits = append(fits, bytes.Repeat([]byte(" "), 2000-len(fits))...)
		s.post(s.signed(fits), 204)
	})
}

// endless is a body that counts what is taken of it.
type endless struct {
	left int
	read *int
}

func (e *endless) Read(p []byte) (int, error) {
	if e.left <= 0 {
		return 0, io.EOF
	}
	n := min(len(p), e.left)
	e.left -= n
	*e.read += n
	return n, nil
}

func TestACompressedBodyIsRefused(t *testing.T) {
	sites(t, notifyhttp.WebhookOptions{}, func(s *site) {
		for encoding, want := range map[string]int{"gzip": 415, "br": 415, "identity": 204} {
			req := s.signed(s.events(channel.KindDelivered))
			req.Header.Set("Content-Encoding", encoding)
			s.post(req, want)
		}
	})
}

func TestWhatIsGenuineAndCannotBeReadIsSaidSo(t *testing.T) {
	sites(t, notifyhttp.WebhookOptions{}, func(s *site) {
		s.post(s.signed([]byte(`{"canary@example.com"`)), 400)
		s.post(s.signed([]byte(`panic`)), 503)
		s.post(s.signed([]byte("["+strings.Repeat("{},", notify.MaxWebhookEvents)+"{}]")), 413)
		s.post(s.signed([]byte(`[{"EventID":"1","Kind":"Burnt","MessageID":"canary@example.com"}]`)), 204)
		s.same(map[string]int64{
			"callbacks acme unreadable": 1, "callbacks acme failed": 1, "callbacks acme too large": 1,
			"callbacks acme taken": 1, "events acme refused": 1,
		}, s.counted.all())
		if text := s.log.String(); strings.Contains(text, "canary@example.com") || !strings.Contains(text, "provider=acme outcome=unreadable") || !strings.Contains(text, "a webhook panicked") {
			s.t.Error(text)
		}
	})
}

// The database is away: the provider is told to come again.
func TestOurOwnFailureAsksForARepeat(t *testing.T) {
	sites(t, notifyhttp.WebhookOptions{Timeout: time.Nanosecond}, func(s *site) {
		s.post(s.signed(s.events(channel.KindDelivered)), 503)
		s.status(notify.StatusCreated)
	})
}

func TestOtherPathsAndMethodsAreNotServed(t *testing.T) {
	sites(t, notifyhttp.WebhookOptions{}, func(s *site) {
		for path, want := range map[string]int{"/other": 404, "/": 404, "/acme/x": 404, "/%61cme%2f": 404} {
			req := s.signed(nil)
			req.URL.RawPath, req.URL.Path = "/hooks"+path, strings.ReplaceAll(strings.ReplaceAll("/hooks"+path, "%61", "a"), "%2f", "/")
			s.post(req, want)
		}
		req := s.signed(nil)
		req.Method = http.MethodGet
		s.post(req, 405)
		s.same(map[string]int64{}, s.counted.all())
	})
}

// Behind a proxy the provider knows another address than this process.
func TestTheAddressIsTheOneThatTheProviderKnows(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ option, query, want string }{
		{"https://example.com/hooks/", "?a=1&b=%2F", "https://example.com/hooks/acme?a=1&b=%2F"},
		{"https://example.com/hooks", "", "https://example.com/hooks/acme"},
		{"", "?a=1", "http://inside:8080/mounted/acme?a=1"},
	} {
		var got string
		spy := spy{func(r channel.WebhookRequest) { got = r.URL }}
		n := notify.New(memory.New(nil), nil)
		h := http.StripPrefix("/mounted", notifyhttp.Webhooks(n, &notifyhttp.WebhookOptions{URL: c.option}, spy))
		req := httptest.NewRequest(http.MethodPost, "/mounted/acme"+c.query, http.NoBody)
		req.Host = "inside:8080"
		h.ServeHTTP(httptest.NewRecorder(), req)
		if got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

type spy struct{ see func(channel.WebhookRequest) }

func (spy) Provider() string { return "acme" }

func (s spy) Events(r channel.WebhookRequest) ([]channel.StatusEvent, error) {
	s.see(r)
	return nil, nil
}

func TestWebhooksThatMakeNoSenseAreNotMade(t *testing.T) {
	t.Parallel()
	n := notify.New(memory.New(nil), nil)
	for name, make := range map[string]func(){
		"no notifier": func() { notifyhttp.Webhooks(nil, nil) },
		"nil":         func() { notifyhttp.Webhooks(n, nil, nil) },
		"two":         func() { notifyhttp.Webhooks(n, nil, acme{"a"}, acme{"b"}) },
		"too large":   func() { notifyhttp.Webhooks(n, &notifyhttp.WebhookOptions{MaxBody: 10<<20 + 1}) },
		"no address":  func() { notifyhttp.Webhooks(n, &notifyhttp.WebhookOptions{URL: "example.com"}) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			make()
		}()
	}
}
