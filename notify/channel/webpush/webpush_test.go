package webpush

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/channel/internal/sendtest"
	"github.com/belfry-go/belfry/notify/channeltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	private = "q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94" // of RFC 8291's appendix
	contact = "mailto:office@school.example"
)

var now = time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)

// browser has the keys of a subscription.
type browser struct {
	key  *ecdh.PrivateKey
	auth []byte
}

var sams = sync.OnceValue(func() browser {
	key, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		panic(err)
	}
	return browser{key, []byte("canary-canary-16")}
})

// at is the subscription to that endpoint, as browsers write it.
func (b browser) at(endpoint string) string {
	encode := base64.RawURLEncoding.EncodeToString
	return `{"endpoint":"` + endpoint + `","expirationTime":null,"keys":{"p256dh":"` + encode(b.key.PublicKey().Bytes()) + `","auth":"` + encode(b.auth) + `"}}`
}

// read opens a body as a browser does (RFC 8188, section 2.2; RFC 8291, section 3.4).
func (b browser) read(body []byte) (n notification, err error) {
	if len(body) < head || body[saltSize+4] != 65 {
		return n, io.ErrUnexpectedEOF
	}
	salt, from := body[:saltSize], body[saltSize+5:head]
	key, err := ecdh.P256().NewPublicKey(from)
	if err != nil {
		return n, err
	}
	shared, err := b.key.ECDH(key)
	if err != nil {
		return n, err
	}
	derive := func(secret, salt []byte, info string, size int) []byte {
		out, err := hkdf.Key(sha256.New, secret, salt, info, size)
		if err != nil {
			panic(err)
		}
		return out
	}
	input := derive(shared, b.auth, "WebPush: info\x00"+string(b.key.PublicKey().Bytes())+string(from), 32)
	block, err := aes.NewCipher(derive(input, salt, "Content-Encoding: aes128gcm\x00", 16))
	if err != nil {
		return n, err
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		return n, err
	}
	text, err := gcm.Open(nil, derive(input, salt, "Content-Encoding: nonce\x00", 12), body[head:], nil)
	if err != nil || len(text) == 0 || text[len(text)-1] != 2 {
		return n, fmt.Errorf("no last record: %w", err)
	}
	return n, json.Unmarshal(text[:len(text)-1], &n)
}

// service is a push service that answers so.
type service struct {
	*httptest.Server

	mu      sync.Mutex
	headers []http.Header
	read    []notification
}

func start(answer func(w http.ResponseWriter, r *http.Request, n notification)) *service {
	s := new(service)
	s.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		n, err := sams().read(body)
		if err != nil || r.URL.Path != "/push/canary" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		s.mu.Lock()
		s.headers, s.read = append(s.headers, r.Header.Clone()), append(s.read, n)
		s.mu.Unlock()
		answer(w, r, n)
	}))
	return s
}

func (s *service) requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.read)
}

func (s *service) trust() *tls.Config {
	return &tls.Config{RootCAs: s.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs, MinVersion: tls.VersionTLS12}
}

// StandIn is a subscription to a push service that prints what it accepts, with the
// settings of TLS by which the service is known.
func StandIn() (subscription string, trust *tls.Config, done func()) {
	s := start(func(w http.ResponseWriter, r *http.Request, n notification) {
		fmt.Println(n.Title, r.Header.Get("TTL"))
		w.WriteHeader(http.StatusCreated)
	})
	return sams().at(s.URL + "/push/canary"), s.trust(), s.Close
}

// opened is a channel whose push service answers so.
func opened(t *testing.T, answer http.HandlerFunc, o Options) (*service, *Channel) {
	t.Helper()
	s := start(func(w http.ResponseWriter, r *http.Request, _ notification) { answer(w, r) })
	t.Cleanup(s.Close)
	o.Trusted, o.TLSConfig = []string{"127.0.0.1"}, s.trust()
	c, err := New(private, contact, &o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return s, c
}

// redirected sends every message to the subscription of a test.
type redirected struct {
	channel.Channel
	to string
}

func (r redirected) Send(ctx context.Context, m channel.Message) (channel.Receipt, error) {
	m.To = r.to
	return r.Channel.Send(ctx, m)
}

func message() channel.Message {
	return channel.Message{ID: "5f1d", To: sams().at("https://push.example/push/canary"), Name: "Sam", Subject: "Your certificate", Text: "It expires soon.", On: now, Attempt: 1}
}

var accepts = sendtest.Says(201, "")

func TestContract(t *testing.T) {
	t.Parallel()
	channeltest.Run(t, channeltest.Harness{
		Open: func(t *testing.T, at channeltest.Provider) channel.Channel {
			c, err := New(private, contact, &Options{Trusted: []string{"127.0.0.1"}, TLSConfig: at.TLS})
			if err != nil {
				t.Fatal(err)
			}
			return c
		},
		Message: func(at channeltest.Provider) channel.Message {
			m := message()
			m.To = sams().at(at.URL + "/push/canary")
			return m
		},
		Secrets: []string{private, base64.RawURLEncoding.EncodeToString(sams().auth)},
		Read: func(r *http.Request, body []byte) (string, bool) {
			n, err := sams().read(body)
			return n.Body, err == nil && strings.HasPrefix(r.Header.Get("Authorization"), "vapid t=")
		},
		Accept:        accepts,
		RefuseMessage: sendtest.Says(413, "canary"),
		RefuseAddress: sendtest.Says(410, "canary"),
		Throttle:      sendtest.Says(429, "canary", "Retry-After: 7"),
		StatusAlone:   true,
		Without:       map[string]string{"account refused": "each push service is a server of its own, and none speaks for the channel"},
	})
}

func TestMessageArrivesAsItWasGiven(t *testing.T) {
	t.Parallel()
	s, c := opened(t, accepts, Options{Urgency: "high"})
	m := message()
	m.To, m.Metadata = sams().at(s.URL+"/push/canary"), map[string]string{"booking": "7", "belfry_message": "another"}
	m.CollapseKey, m.ValidUntil = "booking:7", now.Add(90*time.Minute)
	for range 2 {
		if receipt, err := c.Send(t.Context(), m); err != nil || receipt != (channel.Receipt{}) {
			t.Fatal(receipt, err)
		}
		m.CollapseKey, m.ValidUntil, m.Metadata = "", time.Time{}, nil
	}
	want := []notification{
		{"Your certificate", "It expires soon.", "booking:7", map[string]string{"belfry_message": "5f1d", "booking": "7"}},
		{"Your certificate", "It expires soon.", "", map[string]string{"belfry_message": "5f1d"}},
	}
	if diff := cmp.Diff(want, s.read); diff != "" {
		t.Error(diff)
	}
	var headers []string
	for _, h := range s.headers {
		headers = append(headers, strings.Join([]string{h.Get("TTL"), h.Get("Topic"), h.Get("Urgency"), h.Get("Content-Encoding"), h.Get("Content-Type")}, " "))
	}
	if diff := cmp.Diff([]string{"5400 VkIhVt6wI4EPwNFKEtbPzJAvoM90ulYg high aes128gcm application/octet-stream",
		"2419200  high aes128gcm application/octet-stream"}, headers); diff != "" {
		t.Error(diff)
	}
}

// A key and a salt that are used twice give the content away.
func TestNoKeyIsUsedTwice(t *testing.T) {
	t.Parallel()
	to, ok := parse(message().To)
	if !ok {
		t.Fatal("no subscription")
	}
	seen := map[string]bool{}
	for range 20 {
		body, err := to.encrypt([]byte(`{"title":"a"}`))
		if err != nil {
			t.Fatal(err)
		}
		if n, err := sams().read(body); err != nil || n.Title != "a" {
			t.Fatal(n, err)
		}
		salt, key := string(body[:saltSize]), string(body[saltSize+5:head])
		if seen[salt] || seen[key] {
			t.Fatal("a salt or a key came twice")
		}
		seen[salt], seen[key] = true, true
	}
}

func TestAnswersHaveTheirClass(t *testing.T) {
	t.Parallel()
	const permanent, transient, unknown = channel.ClassPermanent, channel.ClassTransient, channel.ClassUnknown
	const ofBrowser = channel.FaultAddress
	says := func(status int, headers ...string) http.HandlerFunc {
		return sendtest.Says(status, "canary", headers...)
	}
	open := func(t *testing.T, answer http.HandlerFunc) (channel.Channel, func() int) {
		s, c := opened(t, answer, Options{})
		return redirected{c, sams().at(s.URL + "/push/canary")}, s.requests
	}
	sendtest.Answers(t, open, message(), map[string]sendtest.Case{
		"unknown":     sendtest.To(permanent, "404", ofBrowser, says(404)).Suppresses(channel.HardBounce),
		"gone":        sendtest.To(permanent, "410", ofBrowser, says(410)).Suppresses(channel.HardBounce),
		"bad request": sendtest.To(permanent, "400", ofBrowser, says(400)),
		"another key": sendtest.To(permanent, "403", ofBrowser, says(403)),
		"proof":       sendtest.To(transient, "401", ofBrowser, says(401)),
		"too large":   sendtest.To(permanent, "413", channel.FaultMessage, says(413)),
		"too many":    sendtest.To(transient, "429", ofBrowser, says(429, "Retry-After: 60")).After(time.Minute),
		"overloaded":  sendtest.To(transient, "503", ofBrowser, says(503, "Retry-After: 9")).After(9 * time.Second),
		"moved":       sendtest.To(transient, "307", ofBrowser, says(307, "Location: https://127.0.0.1/canary")),
		"fails":       sendtest.To(unknown, "500", ofBrowser, says(500)),
	})
}

// A subscription comes from a browser: who writes one names the host that is called.
func TestNoSubscriptionReachesThisMachineOrItsNetwork(t *testing.T) {
	t.Parallel()
	s := start(func(http.ResponseWriter, *http.Request, notification) {})
	t.Cleanup(s.Close)
	c, err := New(private, contact, &Options{TLSConfig: s.trust()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	for endpoint, code := range map[string]string{
		s.URL: "address", "http://push.example/": "address", "https://push.example:8443/": "address", "https://sam@push.example/": "address",
		"https://127.0.0.1/": "forbidden-address", "https://localhost/": "forbidden-address", "https://[::1]/": "forbidden-address",
		"https://169.254.169.254/": "forbidden-address", "https://10.0.0.1/": "forbidden-address",
	} {
		m := message()
		m.To = sams().at(endpoint)
		_, err := c.Send(t.Context(), m)
		if e := channel.Classify(err); e == nil || e.Class != channel.ClassPermanent || e.Code != code || e.Fault != channel.FaultAddress {
			t.Errorf("%s: %v", endpoint, err)
		}
	}
	if s.requests() != 0 {
		t.Errorf("%d requests", s.requests())
	}
}

func TestMessageThatCannotBeSentIsRefusedUnsent(t *testing.T) {
	t.Parallel()
	open := func(t *testing.T, answer http.HandlerFunc) (channel.Channel, func() int) {
		s, c := opened(t, answer, Options{})
		return c, s.requests
	}
	sendtest.Unsent(t, open, message, map[string]func(*channel.Message){
		"address":         func(m *channel.Message) { m.To = "https://canary.example" },
		"address of key":  func(m *channel.Message) { m.To = strings.Replace(m.To, `"p256dh":"B`, `"p256dh":"C`, 1) },
		"address of auth": func(m *channel.Message) { m.To = strings.Replace(m.To, `"auth":"`, `"auth":"AAAA`, 1) },
		"id":              func(m *channel.Message) { m.ID = "Canary" },
		"attachments":     func(m *channel.Message) { m.Attachments = []channel.Attachment{{Name: "canary"}} },
		"empty":           func(m *channel.Message) { m.Subject, m.Text = "", "" },
		"collapse-key":    func(m *channel.Message) { m.CollapseKey = "canary 1" },
		"size":            func(m *channel.Message) { m.Metadata = map[string]string{"canary": strings.Repeat("x", 3993)} },
	})
}

func TestTheLongestMessageFillsARecord(t *testing.T) {
	t.Parallel()
	s, c := opened(t, accepts, Options{})
	m := message()
	m.To, m.Text = sams().at(s.URL+"/push/canary"), ""
	frame := len(`{"title":"","data":{"belfry_message":"5f1d"}}`)
	m.Subject = strings.Repeat("x", maxText-frame)
	if _, err := c.Send(t.Context(), m); err != nil || s.read[0].Title != m.Subject {
		t.Error(err)
	}
	m.Subject += "x"
	if _, err := c.Send(t.Context(), m); channel.Classify(err).Code != "size" {
		t.Error(err)
	}
}

func TestNewListsEveryFault(t *testing.T) {
	t.Parallel()
	_, err := New("canary", "canary@school.example", &Options{Urgency: "canary", Timeout: -1, MaxConns: -1})
	sendtest.Faults(t, err, "privateKey", "contact", "Urgency", "Timeout", "MaxConns")
	for k, want := range map[string]string{"": "push:webpush", "push:parents": "push:parents"} {
		c, err := New(private, "https://school.example/contact", &Options{Key: k})
		if err != nil || c.Key() != want || !c.Capabilities().Push {
			t.Error(c, err)
			continue
		}
		if c.PublicKey() != "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4" {
			t.Error(c.PublicKey())
		}
	}
}
