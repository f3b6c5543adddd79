package ses

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/channel/internal/rest"
)

const (
	topic    = "arn:aws:sns:eu-west-1:123456789012:mail-events"
	host     = "sns.eu-west-1.amazonaws.com"
	pemPath  = "/SimpleNotificationService-0123456789abcdef0123456789abcdef.pem"
	pemAt    = "https://" + host + pemPath
	bounced  = `{"eventType":"Bounce","bounce":{"bounceType":"Permanent","bounceSubType":"General","bouncedRecipients":[{"emailAddress":"sam@canary.example","action":"failed","status":"5.1.1"}],"timestamp":"2026-03-01T07:59:00.669Z","feedbackId":"f"},` + about
	about    = `"mail":{"timestamp":"2026-03-01T07:58:00Z","messageId":"m-1","destination":["sam@canary.example"],"tags":{"ses:configuration-set":["belfry"],"belfry_message":["` + id + `"]}}}`
	snsID    = "22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324"
	snsToken = "canary-token"
)

var key = sync.OnceValue(func() *rsa.PrivateKey {
	k, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return k
})

// certificate is one of the test's own, for the host of SNS.
func certificate(t *testing.T) []byte {
	t.Helper()
	c := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: host}, DNSNames: []string{host},
		NotBefore: now.Add(-24 * time.Hour), NotAfter: now.AddDate(100, 0, 0), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key().PublicKey, key())
	if err != nil {
		t.Fatal(err)
	}
	return der
}

// sns is the host of SNS: it has the certificate, and takes confirmations.
type sns struct {
	w *Webhook

	mu    sync.Mutex
	asked []string
}

func (s *sns) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.asked...)
}

// serve starts SNS, to which every name of the webhook resolves.
func serve(t *testing.T, broken bool) *sns {
	t.Helper()
	s, der := &sns{}, certificate(t)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.asked = append(s.asked, r.Host+r.URL.Path)
		s.mu.Unlock()
		switch {
		case broken:
			w.WriteHeader(http.StatusInternalServerError)
		case r.URL.Path == pemPath:
			_ = pem.Encode(w, &pem.Block{Type: "CERTIFICATE", Bytes: der})
		}
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key()}}, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	t.Cleanup(server.Close)
	roots := x509.NewCertPool()
	own, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots.AddCert(own)
	s.w, err = newWebhook(rest.Options{TLS: &tls.Config{RootCAs: roots, Time: func() time.Time { return now }, MinVersion: tls.VersionTLS12},
		Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, server.Listener.Addr().String())
		}}, topic)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.w.Close() })
	return s
}

func envelopeOf(message string) envelope {
	return envelope{Type: notification, MessageID: snsID, TopicARN: topic, Message: message, Timestamp: "2026-03-01T07:59:30.000Z",
		SignatureVersion: "2", SigningCertURL: pemAt}
}

// sign signs an envelope as SNS does.
func sign(e envelope) envelope {
	hash, sum := digest(e.SignatureVersion, e.signed())
	if sum == nil {
		return e
	}
	signature, err := rsa.SignPKCS1v15(nil, key(), hash, sum)
	if err != nil {
		panic(err)
	}
	e.Signature = base64.StdEncoding.EncodeToString(signature)
	return e
}

func posted(e envelope) channel.WebhookRequest {
	body, err := json.Marshal(e)
	if err != nil {
		panic(err)
	}
	return channel.WebhookRequest{Method: http.MethodPost, Body: body, Now: now}
}

func TestEventsAreRead(t *testing.T) {
	t.Parallel()
	s := serve(t, false)
	event := func(kind channel.StatusKind, change func(*channel.StatusEvent)) channel.StatusEvent {
		e := channel.StatusEvent{Provider: "ses", EventID: snsID, Kind: kind, On: now.Add(-30 * time.Second), MessageID: id, ProviderMessageID: "m-1", Address: "sam@canary.example"}
		if change != nil {
			change(&e)
		}
		return e
	}
	bounce := func(e *channel.StatusEvent) {
		e.EventID, e.Code, e.Lasting = snsID+":0:"+strings.ToLower(string(e.Kind)), "permanent", true
		e.On = time.Date(2026, 3, 1, 7, 59, 0, 669e6, time.UTC)
	}
	for message, want := range map[string][]channel.StatusEvent{
		`{"eventType":"Send",` + about:          {event(channel.KindAccepted, nil)},
		`{"eventType":"DeliveryDelay",` + about: {event(channel.KindAccepted, nil)},
		`{"eventType":"Delivery","delivery":{"timestamp":"2026-03-01T07:59:10Z","recipients":["sam@canary.example"]},` + about: {
			event(channel.KindDelivered, func(e *channel.StatusEvent) { e.On = now.Add(-50 * time.Second) })},
		`{"eventType":"Open","open":{"timestamp":"2026-03-01T07:59:10Z","ipAddress":"192.0.2.1"},` + about: {
			event(channel.KindOpened, func(e *channel.StatusEvent) { e.On, e.Address = now.Add(-50*time.Second), "" })},
		`{"eventType":"Reject","reject":{"reason":"Bad content"},` + about: {
			event(channel.KindFailed, func(e *channel.StatusEvent) { e.Code = "bad-content" })},
		bounced: {event(channel.KindFailed, bounce), event(channel.KindBounced, bounce)},
		`{"eventType":"Complaint","complaint":{"timestamp":"2026-03-01T07:59:10Z","complainedRecipients":[{"emailAddress":"kim@canary.example"}]},` + about: {
			event(channel.KindComplained, func(e *channel.StatusEvent) {
				e.EventID, e.On, e.Address = snsID+":0:complained", now.Add(-50*time.Second), "kim@canary.example"
			})},
		`{"eventType":"Subscription",` + about:                      nil,
		`{"eventType":"Send","mail":{"messageId":"m-1","tags":{}}}`: nil,
	} {
		events, err := s.w.Events(posted(sign(envelopeOf(message))))
		if diff := cmp.Diff(want, events); diff != "" || err != nil {
			t.Errorf("%s: %v: %s", message, err, diff)
		}
	}
	if got := s.requests(); len(got) != 1 || got[0] != host+pemPath {
		t.Errorf("the certificate was asked for: %v", got)
	}
}

// The texts that SNS's documentation has its readers build.
func TestTheTextThatIsSigned(t *testing.T) {
	t.Parallel()
	subject := "My First Message"
	e := envelope{Type: notification, MessageID: snsID, TopicARN: "arn:aws:sns:us-west-2:123456789012:MyTopic", Subject: &subject, Message: "Hello world!", Timestamp: "2012-05-02T00:54:06.655Z"}
	want := "Message\nHello world!\nMessageId\n22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324\nSubject\nMy First Message\nTimestamp\n2012-05-02T00:54:06.655Z\nTopicArn\narn:aws:sns:us-west-2:123456789012:MyTopic\nType\nNotification\n"
	if diff := cmp.Diff(want, e.signed()); diff != "" {
		t.Error(diff)
	}
	e.Type, e.Subject, e.SubscribeURL, e.Token = confirmation, nil, "https://sns/?Action=ConfirmSubscription", "t"
	want = "Message\nHello world!\nMessageId\n22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324\nSubscribeURL\nhttps://sns/?Action=ConfirmSubscription\nTimestamp\n2012-05-02T00:54:06.655Z\nToken\nt\nTopicArn\narn:aws:sns:us-west-2:123456789012:MyTopic\nType\nSubscriptionConfirmation\n"
	if diff := cmp.Diff(want, e.signed()); diff != "" {
		t.Error(diff)
	}
}

func TestForgedCallbackIsRefused(t *testing.T) {
	t.Parallel()
	s := serve(t, false)
	for _, version := range []string{"1", "2"} {
		e := envelopeOf(bounced)
		e.SignatureVersion = version
		if events, err := s.w.Events(posted(sign(e))); err != nil || len(events) != 2 {
			t.Errorf("version %s: %v, %v", version, events, err)
		}
	}
	known := len(s.requests())
	for name, change := range map[string]func(*envelope){
		"another topic":      func(e *envelope) { e.TopicARN += "x" },
		"another host":       func(e *envelope) { e.SigningCertURL = "https://sns.eu-west-1.amazonaws.com.evil.example" + pemPath },
		"a host before it":   func(e *envelope) { e.SigningCertURL = "https://evil.sns.eu-west-1.amazonaws.com" + pemPath },
		"a user before it":   func(e *envelope) { e.SigningCertURL = "https://sns.eu-west-1.amazonaws.com@evil.example" + pemPath },
		"a bucket":           func(e *envelope) { e.SigningCertURL = "https://s3.amazonaws.com/evil" + pemPath },
		"plain http":         func(e *envelope) { e.SigningCertURL = "http://" + host + pemPath },
		"another port":       func(e *envelope) { e.SigningCertURL = "https://" + host + ":8443" + pemPath },
		"another path":       func(e *envelope) { e.SigningCertURL = "https://" + host + "/evil.pem" },
		"no address":         func(e *envelope) { e.SigningCertURL = "" },
		"an unknown version": func(e *envelope) { e.SignatureVersion = "3" },
		"too old":            func(e *envelope) { e.Timestamp = "2026-03-01T05:59:30Z" },
		"from tomorrow":      func(e *envelope) { e.Timestamp = "2026-03-02T08:00:00Z" },
		"without a time":     func(e *envelope) { e.Timestamp = "" },
		"an unknown type":    func(e *envelope) { e.Type = "UnsubscribeConfirmation" },
		"confirmed at evil's": func(e *envelope) {
			e.Type, e.SubscribeURL = confirmation, "https://evil.example/?Action=ConfirmSubscription"
		},
		"confirmed in plain":    func(e *envelope) { e.Type, e.SubscribeURL = confirmation, "http://"+host+"/" },
		"confirmed at no place": func(e *envelope) { e.Type = confirmation },
	} {
		e := envelopeOf(bounced)
		change(&e)
		refused(t, name, s.w, posted(sign(e)))
	}
	for name, change := range map[string]func(*envelope){
		"another text":  func(e *envelope) { e.Message = strings.Replace(e.Message, "Permanent", "Transient", 1) },
		"another time":  func(e *envelope) { e.Timestamp = "2026-03-01T07:59:31.000Z" },
		"no signature":  func(e *envelope) { e.Signature = "" },
		"another one":   func(e *envelope) { e.Signature = base64.StdEncoding.EncodeToString(make([]byte, 256)) },
		"not in base64": func(e *envelope) { e.Signature = "canary!" },
	} {
		e := sign(envelopeOf(bounced))
		change(&e)
		refused(t, name, s.w, posted(e))
	}
	if got := s.requests(); len(got) != known {
		t.Errorf("it was sent to %v", got[known:])
	}
	late := posted(sign(envelopeOf(bounced)))
	late.Method = http.MethodGet
	refused(t, "another method", s.w, late)
	refused(t, "no JSON", s.w, channel.WebhookRequest{Method: http.MethodPost, Body: []byte("canary"), Now: now})
	refused(t, "no webhook", new(Webhook), posted(sign(envelopeOf(bounced))))
}

func refused(t *testing.T, name string, w *Webhook, r channel.WebhookRequest) {
	t.Helper()
	events, err := w.Events(r)
	if !errors.Is(err, channel.ErrWebhookRefused) || events != nil || strings.Contains(err.Error(), "canary") {
		t.Errorf("%s: %v, %v", name, events, err)
	}
}

func TestASubscriptionOfOurTopicIsConfirmed(t *testing.T) {
	t.Parallel()
	s := serve(t, false)
	e := envelopeOf("You have chosen to subscribe")
	e.Type, e.Token, e.SubscribeURL = confirmation, snsToken, "https://"+host+"/confirm?Action=ConfirmSubscription&Token="+snsToken
	events, err := s.w.Events(posted(sign(e)))
	if diff := cmp.Diff([]string{host + pemPath, host + "/confirm"}, s.requests()); diff != "" || err != nil || events != nil {
		t.Errorf("%v, %v: %s", events, err, diff)
	}
}

// What cannot be checked now is no forgery: SNS repeats it.
func TestWithoutACertificateTheCallbackComesAgain(t *testing.T) {
	t.Parallel()
	s := serve(t, true)
	events, err := s.w.Events(posted(sign(envelopeOf(bounced))))
	if !errors.Is(err, channel.ErrWebhookLater) || errors.Is(err, channel.ErrWebhookRefused) || events != nil {
		t.Error(events, err)
	}
}

func TestNewWebhookNeedsTopics(t *testing.T) {
	t.Parallel()
	for _, topics := range [][]string{nil, {"canary"}, {topic, "arn:aws:sqs:eu-west-1:123456789012:canary"}} {
		if _, err := NewWebhook(topics...); err == nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("%v: %v", topics, err)
		}
	}
	w, err := NewWebhook(topic)
	if err != nil || w.Provider() != "ses" {
		t.Error(err)
	}
	if hash, sum := digest("2", ""); hash != crypto.SHA256 || len(sum) != 32 {
		t.Error(hash)
	}
}
