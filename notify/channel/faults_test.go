package channel_test

import (
	"bufio"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/channel/apns"
	"github.com/belfry-go/belfry/notify/channel/dialog360"
	"github.com/belfry-go/belfry/notify/channel/fcm"
	"github.com/belfry-go/belfry/notify/channel/infobip"
	"github.com/belfry-go/belfry/notify/channel/internal/faults"
	"github.com/belfry-go/belfry/notify/channel/postmark"
	"github.com/belfry-go/belfry/notify/channel/resend"
	"github.com/belfry-go/belfry/notify/channel/sendgrid"
	"github.com/belfry-go/belfry/notify/channel/slack"
	"github.com/belfry-go/belfry/notify/channel/smtp"
	"github.com/belfry-go/belfry/notify/channel/telegram"
	"github.com/belfry-go/belfry/notify/channel/twilio"
	"github.com/belfry-go/belfry/notify/channel/webhook"
	"github.com/belfry-go/belfry/notify/channel/webpush"
)

// Each channel says of each answer what the table says.
func TestEachAnswerIsWhoseFaultTheTableSays(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	all, err := faults.Rows()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		seen[r.Channel]++
		if r.Channel == "ses" {
			continue // its module asks the table
		}
		t.Run(r.Channel+" "+r.Answer, func(t *testing.T) {
			t.Parallel()
			e := channel.Classify(answered(t, r))
			if e == nil {
				t.Fatal("it was accepted")
			}
			if e.Class != r.Class || e.Fault != r.Fault {
				t.Errorf("%s, the fault of %q; want %s, %q", e.Class, e.Fault, r.Class, r.Fault)
			}
			if e.Suppress != "" && r.Fault != channel.FaultAddress {
				t.Errorf("it suppresses an address for %q", e.Suppress)
			}
		})
	}
	for name := range openers {
		if seen[name] == 0 {
			t.Errorf("%s is not in the table", name)
		}
	}
}

// answered is what a channel makes of an answer.
func answered(t *testing.T, r faults.Row) error {
	t.Helper()
	o := openers[r.Channel]
	m := channel.Message{ID: "00112233445566778899aabbccddeeff", To: o.to, Subject: "Hello", Text: "Hello", Attempt: 1, On: time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)}
	var c channel.Channel
	var err error
	if r.Channel == "smtp" {
		c, err = smtp.New(mailServer(t, r.Answer), &smtp.Options{From: "office@school.example", TLS: smtp.NoTLS})
	} else {
		status, code, _ := strings.Cut(r.Answer, " ")
		number, convErr := strconv.Atoi(status)
		if convErr != nil {
			t.Fatal(convErr)
		}
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			_, _ = io.Copy(io.Discard, req.Body)
			if strings.HasSuffix(req.URL.Path, "/token") {
				_, _ = io.WriteString(w, `{"access_token":"a-token","expires_in":3600}`)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(number)
			if code != "" && o.body != nil {
				_, _ = io.WriteString(w, o.body(code))
			}
		}))
		s.EnableHTTP2 = true
		s.StartTLS()
		t.Cleanup(s.Close)
		if o.receiver != nil {
			m.To = o.receiver(t, s.URL)
		}
		c, err = o.open(t, s.URL, s.Client().Transport.(*http.Transport).TLSClientConfig)
	}
	if err != nil {
		t.Fatal(err)
	}
	if closer, ok := c.(io.Closer); ok {
		t.Cleanup(func() { _ = closer.Close() })
	}
	_, err = c.Send(t.Context(), m)
	return err
}

// opener opens a channel to a server, and knows how its provider writes a code.
type opener struct {
	to       string
	open     func(t *testing.T, at string, trust *tls.Config) (channel.Channel, error)
	body     func(code string) string
	receiver func(t *testing.T, at string) string // who names the server
}

const sid, token, mailbox, phone = "AC00000000000000000000000000000000", "0123456789abcdef0123456789abcdef", "sam@home.example", "+4915112345678"

// written puts the code into a body.
func written(format string) func(string) string {
	return func(code string) string { return strings.ReplaceAll(format, "CODE", code) }
}

var openers = map[string]opener{
	"smtp": {to: "sam@b.example"},
	"twilio": {to: phone, body: written(`{"code":CODE,"status":400}`), open: func(_ *testing.T, at string, trust *tls.Config) (channel.Channel, error) {
		return twilio.NewSMS(sid, token, &twilio.Options{From: "+15017122661", BaseURL: at, TLSConfig: trust})
	}},
	"infobip": {to: phone, body: func(code string) string {
		group, name, _ := strings.Cut(code, "/")
		return `{"messages":[{"messageId":"1","status":{"groupName":"` + group + `","name":"` + name + `"}}]}`
	}, open: func(_ *testing.T, at string, trust *tls.Config) (channel.Channel, error) {
		return infobip.NewSMS(at, "a-key", &infobip.Options{From: "+15017122661", TLSConfig: trust})
	}},
	"dialog360": {to: phone, body: written(`{"error":{"code":CODE}}`), open: func(_ *testing.T, at string, trust *tls.Config) (channel.Channel, error) {
		return dialog360.New(token, &dialog360.Options{BaseURL: at, TLSConfig: trust})
	}},
	"sendgrid": {to: mailbox, body: written(`{"errors":[{"field":"CODE"}]}`), open: func(_ *testing.T, at string, trust *tls.Config) (channel.Channel, error) {
		return sendgrid.New("SG.a-key", &sendgrid.Options{From: "office@school.example", BaseURL: at, TLSConfig: trust})
	}},
	"resend": {to: mailbox, body: written(`{"name":"CODE"}`), open: func(_ *testing.T, at string, trust *tls.Config) (channel.Channel, error) {
		return resend.New("re_a_key", &resend.Options{From: "office@school.example", BaseURL: at, TLSConfig: trust})
	}},
	"postmark": {to: mailbox, body: written(`{"ErrorCode":CODE}`), open: func(_ *testing.T, at string, trust *tls.Config) (channel.Channel, error) {
		return postmark.New(token, &postmark.Options{From: "office@school.example", BaseURL: at, TLSConfig: trust})
	}},
	"slack": {to: "C0123456789", body: written(`{"ok":false,"error":"CODE"}`), open: func(_ *testing.T, at string, trust *tls.Config) (channel.Channel, error) {
		return slack.New("xoxb-1-1-a", &slack.Options{BaseURL: at, TLSConfig: trust})
	}},
	"telegram": {to: "123456", open: func(_ *testing.T, at string, trust *tls.Config) (channel.Channel, error) {
		return telegram.New("123456:ABCDEFGHIJKLMNOPQRSTUVWXYZ012345678", &telegram.Options{BaseURL: at, TLSConfig: trust})
	}},
	"fcm": {to: "a-token-of-a-phone:APA91b", body: written(`{"error":{"details":[{"errorCode":"CODE"}]}}`), open: func(t *testing.T, at string, trust *tls.Config) (channel.Channel, error) {
		key, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			t.Fatal(err)
		}
		account, err := json.Marshal(map[string]string{"type": "service_account", "project_id": "school", "private_key_id": "k1",
			"private_key": inPEM(t, key), "client_email": "sender@school.iam.gserviceaccount.com", "token_uri": at + "/token"})
		if err != nil {
			t.Fatal(err)
		}
		return fcm.New(account, &fcm.Options{BaseURL: at, TLSConfig: trust})
	}},
	"apns": {to: strings.Repeat("ab", 32), body: written(`{"reason":"CODE"}`), open: func(t *testing.T, at string, trust *tls.Config) (channel.Channel, error) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		return apns.New("com.example.school", apns.Credentials{Key: []byte(inPEM(t, key)), KeyID: "ABCDEFGHIJ", TeamID: "ABCDEFGHIJ"}, &apns.Options{BaseURL: at, TLSConfig: trust})
	}},
	"webhook": {receiver: func(_ *testing.T, at string) string { return at + "/hook" }, open: func(t *testing.T, at string, trust *tls.Config) (channel.Channel, error) {
		return webhook.New(&webhook.Options{Secrets: []string{"whsec_" + base64.StdEncoding.EncodeToString(make([]byte, 32))}, Trusted: []string{"127.0.0.1"}, Ports: []int{portOf(t, at)}, TLSConfig: trust})
	}},
	"webpush": {receiver: subscription, open: func(_ *testing.T, _ string, trust *tls.Config) (channel.Channel, error) {
		return webpush.New("q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94", "mailto:office@school.example", &webpush.Options{Trusted: []string{"127.0.0.1"}, TLSConfig: trust})
	}},
}

func inPEM(t *testing.T, key any) string {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

func portOf(t *testing.T, at string) int {
	t.Helper()
	u, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(u.Port())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// subscription is that of a browser whose push service is the server.
func subscription(t *testing.T, at string) string {
	t.Helper()
	key, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	b64 := base64.RawURLEncoding
	return fmt.Sprintf(`{"endpoint":"%s/push","keys":{"p256dh":%q,"auth":%q}}`, at, b64.EncodeToString(key.PublicKey().Bytes()), b64.EncodeToString(make([]byte, 16)))
}

// mailServer gives one answer, at one step: "RCPT 550 5.1.1".
func mailServer(t *testing.T, answer string) (addr string) {
	t.Helper()
	at, says, _ := strings.Cut(answer, " ")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	say := func(step, usual string) string {
		if step == at {
			return says
		}
		return usual
	}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go converse(conn, say)
		}
	}()
	return l.Addr().String()
}

func converse(conn net.Conn, say func(step, usual string) string) {
	defer func() { _ = conn.Close() }()
	in, tell := bufio.NewScanner(conn), func(text string) { _, _ = io.WriteString(conn, text+" \r\n") }
	tell(say("CONNECT", "220 hello"))
	for in.Scan() {
		switch command, _, _ := strings.Cut(strings.ToUpper(in.Text()), " "); command {
		case "EHLO", "HELO":
			_, _ = io.WriteString(conn, "250-hello\r\n250 8BITMIME\r\n")
		case "MAIL":
			tell(say("MAIL", "250 2.1.0 yes"))
		case "RCPT":
			tell(say("RCPT", "250 2.1.5 yes"))
		case "DATA":
			a := say("DATA", "354 go on")
			if tell(a); a[0] != '3' {
				continue
			}
			for in.Scan() && in.Text() != "." {
			}
			tell(say(".", "250 2.0.0 taken"))
		case "QUIT":
			return
		default:
			tell("250 yes")
		}
	}
}
