package apns

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
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
	device = "ca4a12ca4a12ca4a12ca4a12ca4a12ca4a12ca4a12ca4a12ca4a12ca4a12ca4a"
	topic  = "example.school"
)

var now = time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)

var key = sync.OnceValue(func() *ecdsa.PrivateKey {
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	return k
})

// p8 is the file of the key.
func p8() []byte {
	der, err := x509.MarshalPKCS8PrivateKey(key())
	if err != nil {
		panic(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

func byKey() Credentials { return Credentials{Key: p8(), KeyID: "ABC123DEFG", TeamID: "DEF123GHIJ"} }

func message() channel.Message {
	return channel.Message{ID: "0123456789abcdef0123456789abcdef", To: device, Name: "Sam", Subject: "Your certificate", Text: "It expires soon.", On: now, Attempt: 1}
}

// sent is a request, as far as it is looked at.
type sent struct {
	Path         string
	Header       map[string]string
	Payload      payload
	IssuedAt     int64
	Certificates int
}

// apple is a server that speaks HTTP/2, checks who calls, and answers so.
type apple struct {
	*httptest.Server

	mu     sync.Mutex
	answer http.HandlerFunc
	all    []sent
}

func start(answer http.HandlerFunc) *apple {
	a := &apple{answer: answer}
	a.Server = httptest.NewUnstartedServer(a)
	a.EnableHTTP2 = true
	a.TLS = &tls.Config{ClientAuth: tls.RequestClientCert, MinVersion: tls.VersionTLS12}
	a.StartTLS()
	return a
}

func serve(t *testing.T, answer http.HandlerFunc) *apple {
	t.Helper()
	a := start(answer)
	t.Cleanup(a.Close)
	return a
}

func (a *apple) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s := sent{Path: r.URL.Path, Header: map[string]string{}, Certificates: len(r.TLS.PeerCertificates)}
	for name := range r.Header {
		if strings.HasPrefix(name, "Apns-") {
			s.Header[name] = r.Header.Get(name)
		}
	}
	body, err := io.ReadAll(r.Body)
	if err != nil || json.Unmarshal(body, &s.Payload) != nil || r.ProtoMajor != 2 || r.Method != http.MethodPost {
		panic(http.ErrAbortHandler)
	}
	issued, ok := stated(r)
	s.IssuedAt = issued
	a.mu.Lock()
	a.all = append(a.all, s)
	answer := a.answer
	a.mu.Unlock()
	if !ok && s.Certificates == 0 {
		says(403, "InvalidProviderToken")(w, r)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	answer(w, r)
}

// answers is how requests are answered from now on.
func (a *apple) answers(answer http.HandlerFunc) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.answer = answer
}

// stated checks a token as Apple does, and gives its time.
func stated(r *http.Request) (int64, bool) {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "bearer ")
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return 0, false
	}
	decode := func(part string) []byte {
		raw, _ := base64.RawURLEncoding.DecodeString(part)
		return raw
	}
	var head, body map[string]any
	signature, sum := decode(parts[2]), sha256.Sum256([]byte(parts[0]+"."+parts[1]))
	if json.Unmarshal(decode(parts[0]), &head) != nil || json.Unmarshal(decode(parts[1]), &body) != nil || len(signature) != 64 ||
		!ecdsa.Verify(&key().PublicKey, sum[:], new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:])) {
		return 0, false
	}
	issued, _ := body["iat"].(float64)
	return int64(issued), head["alg"] == "ES256" && head["kid"] == "ABC123DEFG" && body["iss"] == "DEF123GHIJ"
}

func (a *apple) requests() int { return len(a.seen()) }

func (a *apple) seen() []sent {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]sent(nil), a.all...)
}

// trust are settings of TLS by which the server is known.
func (a *apple) trust() *tls.Config {
	return &tls.Config{RootCAs: a.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs, MinVersion: tls.VersionTLS12}
}

func open(t *testing.T, a *apple, by Credentials, o Options) *Channel {
	t.Helper()
	o.BaseURL, o.TLSConfig = a.URL, a.trust()
	c, err := New(topic, by, &o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func opened(t *testing.T, answer http.HandlerFunc) (channel.Channel, func() int) {
	a := serve(t, answer)
	return open(t, a, byKey(), Options{}), a.requests
}

// says answers with the documented body of an error.
func says(status int, reason string, headers ...string) http.HandlerFunc {
	return sendtest.Says(status, `{"reason":"`+reason+`","timestamp":1772352000000}`, append(headers, "apns-id: 01234567-89ab-cdef-0123-456789abcdef")...)
}

func accepts(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("apns-id", r.Header.Get("apns-id"))
}

// StandIn is a key and the address of a server that prints what it accepts, with the
// settings of TLS by which it is known.
func StandIn() (by Credentials, url string, trust *tls.Config, done func()) {
	a := start(func(w http.ResponseWriter, r *http.Request) {
		var p payload
		_ = json.NewDecoder(r.Body).Decode(&p)
		fmt.Println(p.APS.Alert.Title, r.Header.Get("apns-topic"), r.Header.Get("apns-expiration"))
		accepts(w, r)
	})
	return byKey(), a.URL, a.trust(), a.Close
}

func TestContract(t *testing.T) {
	t.Parallel()
	channeltest.Run(t, channeltest.Harness{
		Open: func(t *testing.T, at channeltest.Provider) channel.Channel {
			c, err := New(topic, byKey(), &Options{BaseURL: at.URL, TLSConfig: at.TLS})
			if err != nil {
				t.Fatal(err)
			}
			return c
		},
		Message: func(channeltest.Provider) channel.Message { return message() },
		Secrets: []string{strings.Split(string(p8()), "\n")[1]},
		Read: func(r *http.Request, body []byte) (string, bool) {
			var p payload
			err := json.Unmarshal(body, &p)
			_, ok := stated(r)
			return p.APS.Alert.Body, err == nil && ok
		},
		Accept:        accepts,
		RefuseMessage: says(400, "PayloadEmpty"),
		RefuseAddress: says(410, "Unregistered"),
		RefuseAccount: says(403, "InvalidProviderToken"),
		Throttle:      says(429, "TooManyRequests", "Retry-After: 7"),
		HTTP2:         true,
	})
}

func TestMessageArrivesAsItWasGiven(t *testing.T) {
	t.Parallel()
	a := serve(t, accepts)
	c := open(t, a, byKey(), Options{Sound: "default", Priority: 5})
	m := message()
	m.Metadata = map[string]string{"booking": "7", "belfry_message": "another"}
	m.CollapseKey, m.ValidUntil = "booking:7", now.Add(90*time.Minute)
	receipt, err := c.Send(t.Context(), m)
	if err != nil || receipt.ID != "01234567-89ab-cdef-0123-456789abcdef" {
		t.Fatal(receipt, err)
	}
	m.CollapseKey, m.ValidUntil, m.Metadata, m.ID = "", time.Time{}, nil, "5f1d"
	if _, err := c.Send(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	header := func(more map[string]string) map[string]string {
		more["Apns-Topic"], more["Apns-Push-Type"], more["Apns-Priority"] = topic, "alert", "5"
		return more
	}
	said := aps{alert{"Your certificate", "It expires soon."}, "default"}
	want := []sent{
		{"/3/device/" + device, header(map[string]string{"Apns-Id": "01234567-89ab-cdef-0123-456789abcdef", "Apns-Collapse-Id": "booking:7", "Apns-Expiration": "1772357400"}),
			payload{said, map[string]string{"belfry_message": "0123456789abcdef0123456789abcdef", "booking": "7"}}, now.Unix(), 0},
		{"/3/device/" + device, header(map[string]string{"Apns-Id": uuid("5f1d"), "Apns-Expiration": "1774944000"}),
			payload{said, map[string]string{"belfry_message": "5f1d"}}, now.Unix(), 0},
	}
	if diff := cmp.Diff(want, a.seen()); diff != "" {
		t.Error(diff)
	}
}

// Apple refuses a token after an hour, and a second one within 20 minutes.
func TestATokenIsMadeAnewNeitherTooOftenNorTooLate(t *testing.T) {
	t.Parallel()
	a := serve(t, accepts)
	c := open(t, a, byKey(), Options{})
	send := func(after time.Duration) (made time.Duration) {
		m := message()
		m.On = now.Add(after)
		_, _ = c.Send(t.Context(), m)
		all := a.seen()
		return time.Unix(all[len(all)-1].IssuedAt, 0).Sub(now)
	}
	for _, s := range []struct{ on, made time.Duration }{
		{0, 0}, {39 * time.Minute, 0}, {-10 * time.Minute, 0}, {40 * time.Minute, 40 * time.Minute}, {79 * time.Minute, 40 * time.Minute},
	} {
		if made := send(s.on); made != s.made {
			t.Errorf("at %v the token is of %v, want %v", s.on, made, s.made)
		}
	}
	a.answers(says(403, "ExpiredProviderToken"))
	for _, s := range []struct{ on, made time.Duration }{
		{50 * time.Minute, 40 * time.Minute}, {59 * time.Minute, 40 * time.Minute}, {60 * time.Minute, 60 * time.Minute}, {79 * time.Minute, 60 * time.Minute},
	} {
		if made := send(s.on); made != s.made {
			t.Errorf("refused, at %v the token is of %v, want %v", s.on, made, s.made)
		}
	}
}

func TestACertificateSpeaksInPlaceOfAToken(t *testing.T) {
	t.Parallel()
	own := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: now, NotAfter: now.AddDate(100, 0, 0)}
	der, err := x509.CreateCertificate(rand.Reader, own, own, &key().PublicKey, key())
	if err != nil {
		t.Fatal(err)
	}
	a := serve(t, accepts)
	c := open(t, a, Credentials{Certificate: &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key()}}, Options{})
	if _, err := c.Send(t.Context(), message()); err != nil {
		t.Fatal(err)
	}
	if all := a.seen(); len(all) != 1 || all[0].Certificates != 1 || all[0].IssuedAt != 0 {
		t.Errorf("%+v", all)
	}
	a.answers(says(403, "BadCertificate"))
	if _, err := c.Send(t.Context(), message()); channel.Classify(err).Fault != channel.FaultAccount {
		t.Error(err)
	}
}

func TestAnswersHaveTheirClass(t *testing.T) {
	t.Parallel()
	const permanent, transient, unknown = channel.ClassPermanent, channel.ClassTransient, channel.ClassUnknown
	const ofChannel, ofDevice, ofMessage = channel.FaultAccount, channel.FaultAddress, channel.FaultMessage
	sendtest.Answers(t, opened, message(), map[string]sendtest.Case{
		"gone":            sendtest.To(permanent, "410 Unregistered", ofDevice, says(410, "Unregistered")).Suppresses(channel.HardBounce),
		"expired":         sendtest.To(permanent, "410 ExpiredToken", ofDevice, says(410, "ExpiredToken")).Suppresses(channel.HardBounce),
		"bad token":       sendtest.To(permanent, "400 BadDeviceToken", ofDevice, says(400, "BadDeviceToken")),
		"of another app":  sendtest.To(permanent, "400 DeviceTokenNotForTopic", ofDevice, says(400, "DeviceTokenNotForTopic")),
		"bad expiration":  sendtest.To(permanent, "400 BadExpirationDate", ofMessage, says(400, "BadExpirationDate")),
		"too large":       sendtest.To(permanent, "413 PayloadTooLarge", ofMessage, says(413, "PayloadTooLarge")),
		"topic":           sendtest.To(transient, "400 TopicDisallowed", ofChannel, says(400, "TopicDisallowed")),
		"expired key":     sendtest.To(transient, "403 ExpiredProviderToken", ofChannel, says(403, "ExpiredProviderToken")),
		"wrong key":       sendtest.To(transient, "403 InvalidProviderToken", ofChannel, says(403, "InvalidProviderToken")),
		"certificate":     sendtest.To(transient, "403 BadCertificate", ofChannel, says(403, "BadCertificate")),
		"path":            sendtest.To(transient, "404 BadPath", ofChannel, says(404, "BadPath")),
		"tokens too fast": sendtest.To(transient, "429 TooManyProviderTokenUpdates", ofChannel, says(429, "TooManyProviderTokenUpdates")),
		"one device":      sendtest.To(transient, "429 TooManyRequests", ofDevice, says(429, "TooManyRequests", "Retry-After: 60")).After(time.Minute),
		"idle":            sendtest.To(transient, "400 IdleTimeout", "", says(400, "IdleTimeout")),
		"shuts down":      sendtest.To(transient, "503 Shutdown", channel.FaultProvider, says(503, "Shutdown")),
		"fails":           sendtest.To(unknown, "500 InternalServerError", "", says(500, "InternalServerError")),
		"gateway":         sendtest.To(unknown, "502", "", sendtest.Says(502, "<html>canary")),
		"no id":           sendtest.To(unknown, "200 no-id", "", sendtest.Says(200, "")),
	})
}

func TestMessageThatCannotBeSentIsRefusedUnsent(t *testing.T) {
	t.Parallel()
	sendtest.Unsent(t, opened, message, map[string]func(*channel.Message){
		"address":      func(m *channel.Message) { m.To = "canary" },
		"address 2":    func(m *channel.Message) { m.To = device + "/../canary" },
		"id":           func(m *channel.Message) { m.ID = "Canary" },
		"attachments":  func(m *channel.Message) { m.Attachments = []channel.Attachment{{Name: "canary"}} },
		"empty":        func(m *channel.Message) { m.Subject, m.Text = "", "" },
		"collapse-key": func(m *channel.Message) { m.CollapseKey = strings.Repeat("c", 65) },
		"size":         func(m *channel.Message) { m.Metadata = map[string]string{"canary": strings.Repeat("x", 4096)} },
	})
}

func TestNewListsEveryFault(t *testing.T) {
	t.Parallel()
	_, err := New("canary topic", Credentials{Key: []byte("canary")}, &Options{BaseURL: "http://canary.example", Priority: 7, Timeout: -1, MaxCalls: -1})
	sendtest.Faults(t, err, "topic", "KeyID", "TeamID", "Key:", "BaseURL", "Priority", "Timeout", "MaxCalls")
	_, err = New(topic, Credentials{}, nil)
	sendtest.Faults(t, err, "either Key or Certificate")
	for k, want := range map[string]string{"": "push:apns", "push:parents": "push:parents"} {
		if c, err := New(topic, byKey(), &Options{Key: k}); err != nil || c.Key() != want || c.MaxCalls() != 10 || !c.Capabilities().Push {
			t.Error(c, err)
		}
	}
}
