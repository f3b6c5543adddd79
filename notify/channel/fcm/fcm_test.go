package fcm

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
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
	device = "canary-token-of-a-phone:APA91b"
	access = "ya29.canary-access-token"
	email  = "sender@canary-project.iam.gserviceaccount.com"
)

var key = sync.OnceValue(func() *rsa.PrivateKey {
	k, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return k
})

func privateKey() string {
	der, err := x509.MarshalPKCS8PrivateKey(key())
	if err != nil {
		panic(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

// account is the file of a service account that asks for its tokens at that address.
func account(at string) []byte {
	file, err := json.Marshal(map[string]string{"type": "service_account", "project_id": "canary-project", "private_key_id": "k1",
		"private_key": privateKey(), "client_email": email, "token_uri": at + "/token"})
	if err != nil {
		panic(err)
	}
	return file
}

var now = time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)

func message() channel.Message {
	return channel.Message{ID: "5f1d", To: device, Name: "Sam", Subject: "Your certificate", Text: "It expires soon.", On: now, Attempt: 1}
}

// google is the token endpoint and Firebase: one answers as it is documented, the other
// so.
type google struct {
	url    string
	answer http.HandlerFunc

	mu      sync.Mutex
	granted []map[string]any // what was signed for
	refuses bool             // no tokens
	sent    []request
}

func serve(t *testing.T, answer http.HandlerFunc) *google {
	t.Helper()
	g := &google{answer: answer}
	s := httptest.NewServer(g)
	t.Cleanup(s.Close)
	g.url = s.URL
	return g
}

func (g *google) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if r.URL.Path == "/token" {
		g.grant(w, r)
		return
	}
	var body request
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil || r.URL.Path != "/v1/projects/canary-project/messages:send" {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	g.sent = append(g.sent, body)
	if r.Header.Get("Authorization") != fmt.Sprint("Bearer ", access, len(g.granted)) {
		says(401, "UNAUTHENTICATED", "")(w, r)
		return
	}
	g.answer(w, r)
}

// grant checks an assertion as Google does, and numbers its tokens.
func (g *google) grant(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(r.PostFormValue("assertion"), ".")
	if len(parts) != 3 || r.PostFormValue("grant_type") != grant || g.refuses {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"error":"invalid_grant","error_description":"`+email+`"}`)
		return
	}
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	signature, _ := base64.RawURLEncoding.DecodeString(parts[2])
	claims, _ := base64.RawURLEncoding.DecodeString(parts[1])
	var said map[string]any
	if rsa.VerifyPKCS1v15(&key().PublicKey, crypto.SHA256, sum[:], signature) != nil || json.Unmarshal(claims, &said) != nil {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	g.granted = append(g.granted, said)
	_, _ = fmt.Fprintf(w, `{"access_token":"%s%d","expires_in":3599,"token_type":"Bearer"}`, access, len(g.granted))
}

// StandIn is the service account and the address of a Firebase that prints what it
// accepts.
func StandIn() (file []byte, url string, done func()) {
	g := &google{}
	g.answer = func(w http.ResponseWriter, r *http.Request) {
		m := g.sent[len(g.sent)-1].Message
		fmt.Println(m.Notification.Title, m.Android)
		accepts(w, r)
	}
	s := httptest.NewServer(g)
	return account(s.URL), s.URL, s.Close
}

func (g *google) requests() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.sent)
}

func open(t *testing.T, g *google) *Channel {
	t.Helper()
	c, err := New(account(g.url), &Options{BaseURL: g.url})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func opened(t *testing.T, answer http.HandlerFunc) (channel.Channel, func() int) {
	g := serve(t, answer)
	return open(t, g), g.requests
}

// says answers with the documented body of an error.
func says(status int, name, code string, headers ...string) http.HandlerFunc {
	details := ""
	if code != "" {
		details = `{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"` + code + `"}`
	}
	message := "about " + device
	if code == "INVALID_ARGUMENT" {
		message = "The registration token is not a valid FCM registration token"
	}
	return sendtest.Says(status, fmt.Sprintf(`{"error":{"code":%d,"message":%q,"status":%q,"details":[%s]}}`, status, message, name, details), headers...)
}

var accepts = sendtest.Says(200, `{"name":"projects/canary-project/messages/0:1500415314455276%31bd1c9631bd1c96"}`)

func TestContract(t *testing.T) {
	t.Parallel()
	channeltest.Run(t, channeltest.Harness{
		Open: func(t *testing.T, at channeltest.Provider) channel.Channel {
			c, err := New(account(at.URL), &Options{BaseURL: at.URL, TLSConfig: at.TLS})
			if err != nil {
				t.Fatal(err)
			}
			return c
		},
		Message: func(channeltest.Provider) channel.Message { return message() },
		Secrets: []string{access, strings.Split(privateKey(), "\n")[1]},
		Read: func(r *http.Request, body []byte) (string, bool) {
			var req request
			err := json.Unmarshal(body, &req)
			return req.Message.Notification.Body, err == nil && r.Header.Get("Authorization") == "Bearer "+access
		},
		Accept: func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/token" {
				sendtest.Says(200, `{"access_token":"`+access+`","expires_in":3599}`)(w, r)
				return
			}
			accepts(w, r)
		},
		RefuseMessage: says(400, "INVALID_ARGUMENT", ""),
		RefuseAddress: says(404, "NOT_FOUND", "UNREGISTERED"),
		RefuseAccount: says(403, "PERMISSION_DENIED", ""),
		Throttle:      says(429, "RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED", "Retry-After: 7"),
	})
}

func TestMessageArrivesAsItWasGiven(t *testing.T) {
	t.Parallel()
	g := serve(t, accepts)
	c := open(t, g)
	m := message()
	m.Metadata = map[string]string{"booking": "7", "belfry_message": "another"}
	m.CollapseKey, m.ValidUntil = "booking:7", now.Add(90*time.Minute)
	receipt, err := c.Send(t.Context(), m)
	if err != nil || receipt.ID != "projects/canary-project/messages/0:1500415314455276%31bd1c9631bd1c96" {
		t.Fatal(receipt, err)
	}
	m.CollapseKey, m.ValidUntil, m.Metadata = "", time.Time{}, nil
	if _, err := c.Send(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	said := notification{"Your certificate", "It expires soon."}
	want := []request{
		{push{device, said, map[string]string{"belfry_message": "5f1d", "booking": "7"}, android{"booking:7", "5400s"},
			headers{map[string]string{"apns-collapse-id": "booking:7", "apns-expiration": "1772357400"}},
			headers{map[string]string{"TTL": "5400", "Topic": "VkIhVt6wI4EPwNFKEtbPzJAvoM90ulYg"}}}},
		{push{device, said, map[string]string{"belfry_message": "5f1d"}, android{"", "2419200s"},
			headers{map[string]string{"apns-expiration": "1774771200"}}, headers{map[string]string{"TTL": "2419200"}}}},
	}
	if diff := cmp.Diff(want, g.sent); diff != "" {
		t.Error(diff)
	}
}

// A token is asked for once an hour, by what the service account has signed.
func TestATokenIsUsedUntilItEndsOrIsRefused(t *testing.T) {
	t.Parallel()
	g := serve(t, accepts)
	c := open(t, g)
	send := func(on time.Time) error {
		m := message()
		m.On = on
		_, err := c.Send(t.Context(), m)
		return err
	}
	for _, after := range []time.Duration{0, 54 * time.Minute, 55 * time.Minute} {
		if err := send(now.Add(after)); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]any{"iss": email, "scope": scope, "aud": g.url + "/token", "iat": float64(now.Unix()), "exp": float64(now.Unix() + 3600)}
	if diff := cmp.Diff(want, g.granted[0]); diff != "" || len(g.granted) != 2 {
		t.Errorf("%d tokens: %s", len(g.granted), diff)
	}
	g.granted = append(g.granted, nil) // the one that it has is good no more
	if e := channel.Classify(send(now.Add(time.Hour))); e == nil || e.Class != channel.ClassTransient || e.Fault != channel.FaultAccount {
		t.Error(e)
	}
	if err := send(now.Add(time.Hour)); err != nil || len(g.granted) != 4 {
		t.Error(len(g.granted), err)
	}
	g.refuses = true
	e := channel.Classify(send(now.Add(3 * time.Hour)))
	if e == nil || e.Class != channel.ClassTransient || e.Fault != channel.FaultAccount || e.Code != "400 invalid_grant" || strings.Contains(e.Error(), "canary") {
		t.Error(e)
	}
}

// Whatever becomes of the request for a token, the message was not sent.
func TestWithoutATokenNothingIsInDoubt(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]http.HandlerFunc{
		"cut":     func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"fails":   sendtest.Says(500, ""),
		"no JSON": sendtest.Says(200, "<html>canary"),
		"empty":   sendtest.Says(200, `{"access_token":""}`),
		"strange": sendtest.Says(200, `{"access_token":"canary\r\nX-Injected: 1"}`),
	} {
		s := httptest.NewServer(answer)
		t.Cleanup(s.Close)
		c := open(t, &google{url: s.URL})
		_, err := c.Send(t.Context(), message())
		if e := channel.Classify(err); e == nil || e.Class != channel.ClassTransient || !e.Fault.IsOutage() || strings.Contains(e.Error(), "canary") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAnswersHaveTheirClass(t *testing.T) {
	t.Parallel()
	const permanent, transient, unknown = channel.ClassPermanent, channel.ClassTransient, channel.ClassUnknown
	const ofChannel, ofDevice = channel.FaultAccount, channel.FaultAddress
	sendtest.Answers(t, opened, message(), map[string]sendtest.Case{
		"token gone":       sendtest.To(permanent, "404 UNREGISTERED", ofDevice, says(404, "NOT_FOUND", "UNREGISTERED")).Suppresses(channel.HardBounce),
		"token of another": sendtest.To(permanent, "403 SENDER_ID_MISMATCH", ofDevice, says(403, "PERMISSION_DENIED", "SENDER_ID_MISMATCH")),
		"no token":         sendtest.To(permanent, "400 INVALID_ARGUMENT", ofDevice, says(400, "INVALID_ARGUMENT", "INVALID_ARGUMENT")),
		"wrong data":       sendtest.To(permanent, "400 INVALID_ARGUMENT", channel.FaultMessage, says(400, "INVALID_ARGUMENT", "")),
		"wrong APNs key":   sendtest.To(transient, "401 THIRD_PARTY_AUTH_ERROR", ofChannel, says(401, "UNAUTHENTICATED", "THIRD_PARTY_AUTH_ERROR")),
		"may not":          sendtest.To(transient, "403 PERMISSION_DENIED", ofChannel, says(403, "PERMISSION_DENIED", "")),
		"no project":       sendtest.To(transient, "404 NOT_FOUND", ofChannel, says(404, "NOT_FOUND", "")),
		"quota":            sendtest.To(transient, "429 QUOTA_EXCEEDED", "", says(429, "RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED", "Retry-After: 60")).After(time.Minute),
		"overloaded":       sendtest.To(transient, "503 UNAVAILABLE", channel.FaultProvider, says(503, "UNAVAILABLE", "UNAVAILABLE", "Retry-After: 9")).After(9 * time.Second),
		"fails":            sendtest.To(unknown, "500 INTERNAL", "", says(500, "INTERNAL", "INTERNAL")),
		"gateway":          sendtest.To(unknown, "502", "", sendtest.Says(502, "<html>canary")),
		"no name":          sendtest.To(unknown, "200 no-name", "", sendtest.Says(200, "{}")),
	})
}

func TestMessageThatCannotBeSentIsRefusedUnsent(t *testing.T) {
	t.Parallel()
	sendtest.Unsent(t, opened, message, map[string]func(*channel.Message){
		"address":      func(m *channel.Message) { m.To = "" },
		"address 2":    func(m *channel.Message) { m.To = "canary\nx" },
		"id":           func(m *channel.Message) { m.ID = "Canary" },
		"template":     func(m *channel.Message) { m.Template.Name = "canary" },
		"attachments":  func(m *channel.Message) { m.Attachments = []channel.Attachment{{Name: "canary"}} },
		"mail":         func(m *channel.Message) { m.Mail.CC = []string{"canary@school.example"} },
		"empty":        func(m *channel.Message) { m.Subject, m.Text = "", "" },
		"collapse-key": func(m *channel.Message) { m.CollapseKey = "canary 1" },
		"size":         func(m *channel.Message) { m.Metadata = map[string]string{"canary": strings.Repeat("x", 4096)} },
	})
}

func TestNewListsEveryFault(t *testing.T) {
	t.Parallel()
	_, err := New([]byte(`{"private_key":"canary","token_uri":"http://canary.example"}`), &Options{BaseURL: "http://api.example", Timeout: -1, MaxConns: -1})
	sendtest.Faults(t, err, "project_id", "client_email", "private_key", "token_uri", "BaseURL", "Timeout", "MaxConns")
	_, err = New([]byte("canary"), nil)
	sendtest.Faults(t, err, "not JSON")
	for k, want := range map[string]string{"": "push:fcm", "push:parents": "push:parents"} {
		if c, err := New(account("https://oauth2.googleapis.com"), &Options{Key: k}); err != nil || c.Key() != want || c.MaxCalls() != 10 {
			t.Error(c, err)
		}
	}
}
