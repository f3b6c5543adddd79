package ses

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"mime/quotedprintable"
	"net/http"
	"net/mail"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/channel/internal/sendtest"
	"github.com/belfry-go/belfry/notify/channeltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	secret = "canary-secret-access-key"
	id     = "0123456789abcdef0123456789abcdef"
)

var now = time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)

var credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
	return aws.Credentials{AccessKeyID: "AKIDEXAMPLE", SecretAccessKey: secret, SessionToken: "canary-session"}, nil
})

func letter() channel.Message {
	return channel.Message{ID: id, To: "sam@canary.example", Name: "Sam", Subject: "Your certificate", Text: "It expires soon.", On: now, Attempt: 1}
}

func open(t *testing.T, url string, o Options) *Channel {
	t.Helper()
	o.From, o.BaseURL = "School <office@school.example>", url
	c, err := New("eu-west-1", credentials, &o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func opened(t *testing.T, answer http.HandlerFunc) (channel.Channel, func() int) {
	url, sent := sendtest.Serve[request](t, answer)
	return open(t, url, Options{}), func() int { return len(sent()) }
}

// says answers with the documented form of an error.
func says(status int, kind string, headers ...string) http.HandlerFunc {
	return sendtest.Says(status, `{"message":"about sam@canary.example"}`, append(headers, "x-amzn-ErrorType: "+kind+":http://internal.amazon.com/")...)
}

var accepts = sendtest.Says(200, `{"MessageId":"EXAMPLE7c191be45-e9aedb9a-02f9-4d12-a87d-dd0099a07f8a-000000"}`)

// signed recomputes the signature of a request as SES does, from the request as it came.
func signed(r *http.Request, body []byte) bool {
	given := r.Header.Get("Authorization")
	again := r.Clone(context.Background())
	_, names, _ := strings.Cut(given, "SignedHeaders=")
	names, _, _ = strings.Cut(names, ",")
	for name := range again.Header {
		if !slices.Contains(strings.Split(names, ";"), strings.ToLower(name)) { // what the transport adds
			again.Header.Del(name)
		}
	}
	again.URL.Host, again.URL.Scheme = r.Host, "https"
	at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	if err != nil {
		return false
	}
	sum := sha256.Sum256(body)
	credential, _ := credentials(context.Background())
	_ = v4.NewSigner().SignHTTP(context.Background(), credential, again, hex.EncodeToString(sum[:]), "ses", "eu-west-1", at)
	return again.Header.Get("Authorization") == given && at.Equal(now)
}

// text is what a reader shows of a mail that is text.
func text(t *testing.T, raw []byte) string {
	m, err := mail.ReadMessage(bytes.NewReader(raw))
	if err != nil {
		t.Error(err)
		return ""
	}
	body := m.Body
	switch m.Header.Get("Content-Transfer-Encoding") {
	case "quoted-printable":
		body = quotedprintable.NewReader(body)
	case "base64":
		body = base64.NewDecoder(base64.StdEncoding, body)
	}
	all, err := io.ReadAll(body)
	if err != nil {
		t.Error(err)
	}
	return string(all)
}

func TestContract(t *testing.T) {
	t.Parallel()
	channeltest.Run(t, channeltest.Harness{
		Open: func(t *testing.T, at channeltest.Provider) channel.Channel {
			c, err := New("eu-west-1", credentials, &Options{From: "office@school.example", BaseURL: at.URL, TLSConfig: at.TLS})
			if err != nil {
				t.Fatal(err)
			}
			return c
		},
		Message: func(channeltest.Provider) channel.Message { return letter() },
		Secrets: []string{secret, "canary-session"},
		Read: func(r *http.Request, body []byte) (string, bool) {
			var req request
			if json.Unmarshal(body, &req) != nil || r.URL.Path != "/v2/email/outbound-emails" || !signed(r, body) {
				return "", false
			}
			return text(t, req.Content.Raw.Data), true
		},
		Accept:        accepts,
		RefuseMessage: says(400, "MessageRejected"),
		RefuseAccount: says(403, "InvalidClientTokenId"),
		Throttle:      says(429, "TooManyRequestsException", "Retry-After: 7"),
		Without:       map[string]string{"address refused": "SES takes mails to any address, and reports a bounce"},
	})
}

func TestMailArrivesAsItWasGiven(t *testing.T) {
	t.Parallel()
	url, sent := sendtest.Serve[request](t, accepts)
	m := letter()
	m.Attachments = []channel.Attachment{{Name: "certificate.pdf", MediaType: "application/pdf", Data: []byte("%PDF")}}
	m.UnsubscribeURL = "https://school.example/u?t=abc"
	m.Mail = channel.Mail{CC: []string{"Kim <kim@home.example>"}, BCC: []string{"archive@school.example"}, References: []string{"booking-7@school.example"}}
	receipt, err := open(t, url, Options{ConfigurationSet: "belfry"}).Send(t.Context(), m)
	if err != nil || receipt.ID != "EXAMPLE7c191be45-e9aedb9a-02f9-4d12-a87d-dd0099a07f8a-000000" || len(sent()) != 1 {
		t.Fatal(receipt, err)
	}
	got := sent()[0]
	raw := string(got.Content.Raw.Data)
	got.Content = content{}
	want := request{From: "office@school.example", Destination: destination{[]string{"sam@canary.example"}, []string{"kim@home.example", "archive@school.example"}},
		Tags: []tag{{"belfry_message", id}}, Set: "belfry"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	head, err := mail.ReadMessage(strings.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"To": `"Sam" <sam@canary.example>`, "Cc": `"Kim" <kim@home.example>`, "Bcc": "", "References": "<booking-7@school.example>",
		"List-Unsubscribe": "<https://school.example/u?t=abc>", "Message-Id": "<" + id + "@school.example>"} {
		if got := head.Header.Get(name); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	if strings.Contains(raw, "archive@") {
		t.Error("the mail names who gets a blind copy")
	}
}

func TestAnswersHaveTheirClass(t *testing.T) {
	t.Parallel()
	const permanent, transient, unknown, ofChannel = channel.ClassPermanent, channel.ClassTransient, channel.ClassUnknown, channel.FaultAccount
	sendtest.Answers(t, opened, letter(), map[string]sendtest.Case{
		"rejected":        sendtest.To(permanent, "400 MessageRejected", "", says(400, "MessageRejected")),
		"bad request":     sendtest.To(permanent, "400 BadRequestException", "", says(400, "BadRequestException")),
		"suspended":       sendtest.To(transient, "400 AccountSuspendedException", ofChannel, says(400, "AccountSuspendedException")),
		"paused":          sendtest.To(transient, "400 SendingPausedException", ofChannel, says(400, "SendingPausedException")),
		"not verified":    sendtest.To(transient, "400 MailFromDomainNotVerifiedException", ofChannel, says(400, "MailFromDomainNotVerifiedException")),
		"no set":          sendtest.To(transient, "404 NotFoundException", ofChannel, says(404, "NotFoundException")),
		"too many":        sendtest.To(transient, "429 TooManyRequestsException", ofChannel, says(429, "TooManyRequestsException")),
		"throttled":       sendtest.To(transient, "400 ThrottlingException", ofChannel, says(400, "ThrottlingException")),
		"expired":         sendtest.To(transient, "403 ExpiredTokenException", ofChannel, says(403, "ExpiredTokenException")),
		"wrong signature": sendtest.To(transient, "403 SignatureDoesNotMatch", ofChannel, says(403, "SignatureDoesNotMatch")),
		"fails":           sendtest.To(unknown, "500 InternalFailure", "", says(500, "InternalFailure")),
		"fails closed":    sendtest.To(unknown, "500 SendingPausedException", "", says(500, "SendingPausedException")),
		"unavailable":     sendtest.To(transient, "503 ServiceUnavailable", channel.FaultProvider, says(503, "ServiceUnavailable")),
		"no id":           sendtest.To(unknown, "200 no-id", "", sendtest.Says(200, "{}")),
	})
}

func TestMessageThatMakesNoMailIsRefusedUnsent(t *testing.T) {
	t.Parallel()
	sendtest.Unsent(t, opened, letter, map[string]func(*channel.Message){
		"address":   func(m *channel.Message) { m.To = "sam@canary.example, kim@canary.example" },
		"address 2": func(m *channel.Message) { m.To = "jörg@canary.example" },
		"id":        func(m *channel.Message) { m.ID = "A\n" },
		"template":  func(m *channel.Message) { m.Template.Name = "canary" },
		"header":    func(m *channel.Message) { m.Subject = "Hello\r\nBcc: canary@canary.example" },
		"size": func(m *channel.Message) {
			m.Attachments = []channel.Attachment{{Name: "a", MediaType: "a/b", Data: make([]byte, 31<<20)}}
		},
	})
}

// Without credentials nothing is sent, and what their provider says is not told.
func TestWithoutCredentialsNothingIsSent(t *testing.T) {
	t.Parallel()
	url, sent := sendtest.Serve[request](t, accepts)
	c := open(t, url, Options{})
	c.credentials = func(context.Context) (aws.Credentials, error) { return aws.Credentials{}, errors.New("canary role") }
	_, err := c.Send(t.Context(), letter())
	if e := channel.Classify(err); e == nil || e.Class != channel.ClassTransient || e.Fault != channel.FaultAccount || strings.Contains(err.Error(), "canary") || len(sent()) != 0 {
		t.Error(err)
	}
}

func TestNewListsEveryFault(t *testing.T) {
	t.Parallel()
	_, err := New("canary region", nil, &Options{From: "canary", ConfigurationSet: "canary set", BaseURL: "http://api.example", Timeout: -1, MaxConns: -1})
	sendtest.Faults(t, err, "region", "credentials", "From", "ConfigurationSet", "BaseURL", "Timeout", "MaxConns")
	for set, want := range map[string]bool{"": false, "belfry": true} {
		c := open(t, "https://email.eu-west-1.amazonaws.com", Options{ConfigurationSet: set})
		if can := c.Capabilities(); c.Key() != "email:ses" || can.Callbacks != want || c.MaxCalls() != 10 || c.ReportedBy() != "ses" {
			t.Errorf("%+v", can)
		}
	}
}
