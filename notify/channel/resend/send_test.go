package resend

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/channel/internal/sendtest"
)

func TestMailArrivesAsItWasGiven(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	m := message()
	m.Name = `Müller, "Sam"`
	m.HTML = "<p>It expires <b>soon</b>. <img src=cid:logo></p>"
	m.UnsubscribeURL = "https://school.example/u?t=abc"
	m.Attachments = []channel.Attachment{
		{Name: "certificate.pdf", MediaType: "application/pdf", Data: []byte("%PDF")},
		{Name: "logo.png", MediaType: "image/png", ContentID: "logo", Data: []byte("png")},
	}
	m.Mail = channel.Mail{ReplyTo: "Ann <ann@school.example>", CC: []string{"Kim <kim@bücher.example>"}, BCC: []string{"archive@school.example"},
		InReplyTo: "q1@home.example", References: []string{"booking-7@school.example", "q1@home.example"}, Headers: map[string]string{"Importance": "high"}}
	receipt, err := open(t, s, Options{ReplyTo: "Head <head@school.example>"}).Send(t.Context(), m)
	if err != nil || receipt.ID != "49a3999c-"+id {
		t.Fatal(receipt, err)
	}
	requests, mails := s.seen()
	want := []email{{
		From: `"School" <office@school.example>`, To: []string{`"Müller, \"Sam\"" <sam@canary.example>`},
		CC: []string{`"Kim" <kim@xn--bcher-kva.example>`}, BCC: []string{"archive@school.example"}, ReplyTo: `"Ann" <ann@school.example>`,
		Subject: "Your certificate", Text: m.Text, HTML: m.HTML,
		Headers: map[string]string{"Auto-Submitted": "auto-generated", "List-Unsubscribe": "<https://school.example/u?t=abc>",
			"List-Unsubscribe-Post": "List-Unsubscribe=One-Click", "Importance": "high",
			"In-Reply-To": "<q1@home.example>", "References": "<booking-7@school.example> <q1@home.example>"},
		Attachments: []attachment{{"certificate.pdf", []byte("%PDF"), "application/pdf", ""}, {"logo.png", []byte("png"), "image/png", "logo"}},
		Tags:        []tag{{"belfry_message", id}},
	}}
	if diff := cmp.Diff(want, mails); diff != "" || requests != 1 {
		t.Error(requests, diff)
	}
}

func TestEveryPartMayBeMissingButTheSubject(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	c := open(t, s, Options{ReplyTo: "head@school.example"})
	var want []string
	for i, parts := range []struct{ text, html, want string }{{"text", "", "text//head@school.example"}, {"", "<p>", "/<p>/head@school.example"}, {"", "", "Your certificate//head@school.example"}} {
		m := message()
		m.ID, m.Name, m.Text, m.HTML = fmt.Sprint("m", i), "", parts.text, parts.html
		if _, err := c.Send(t.Context(), m); err != nil {
			t.Error(parts, err)
		}
		want = append(want, parts.want)
	}
	_, mails := s.seen()
	var got []string
	for _, m := range mails {
		got = append(got, m.Text+"/"+m.HTML+"/"+m.ReplyTo)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// I-10: whoever repeats a request sends the same bytes under the same key, and gets the
// id of the first one.
func TestI10_ARepeatIsTheSameMail(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	s.then = func(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) } // it has the mail, and nobody knows
	c := open(t, s, Options{})
	m := message()
	m.Mail.Headers = map[string]string{"Importance": "high", "Priority": "urgent", "X-Priority": "1"}
	if err := refuse(t, c, m); err.Class != channel.ClassUnknown {
		t.Fatal(err)
	}
	for attempt := 2; attempt < 5; attempt++ {
		m.Attempt, m.On = attempt, now.Add(time.Duration(attempt)*time.Hour)
		if receipt, err := c.Send(t.Context(), m); err != nil || receipt.ID != "49a3999c-"+id {
			t.Error(receipt, err)
		}
	}
	if requests, mails := s.seen(); requests != 4 || len(mails) != 1 {
		t.Errorf("%d requests, %d mails", requests, len(mails))
	}
	m.Text = "Another text."
	if err := refuse(t, c, m); err.Class != channel.ClassUnknown || err.Code != "409 invalid_idempotent_request" {
		t.Error("a repeat with other parts:", err)
	}
	if w := c.IdempotencyWindow(); w <= 0 || w >= 24*time.Hour {
		t.Errorf("a key is relied on for %s", w)
	}
}

func TestMessageThatMakesNoMailIsRefusedUnsent(t *testing.T) {
	t.Parallel()
	sendtest.Unsent(t, opened, message, map[string]func(*channel.Message){
		"address":    func(m *channel.Message) { m.To = "Sam <sam@canary.example>" },
		"id":         func(m *channel.Message) { m.ID = "A\n" },
		"subject":    func(m *channel.Message) { m.Subject = "" },
		"template":   func(m *channel.Message) { m.Template.Name = "d-canary" },
		"attachment": func(m *channel.Message) { m.Attachments = []channel.Attachment{{Name: "a"}} },
		"header 1":   func(m *channel.Message) { m.Subject = "Hello\r\nBcc: canary@canary.example" },
		"header 2":   func(m *channel.Message) { m.Name = "Sam\nBcc: canary@canary.example" },
		"header 3":   func(m *channel.Message) { m.UnsubscribeURL = "https://a.b/\r\nBcc: canary@canary.example" },
		"header 4":   func(m *channel.Message) { m.Mail.Headers = map[string]string{"X-SMTPAPI": "canary"} },
	})
}

func TestLargestAttachmentsAreSent(t *testing.T) {
	t.Parallel()
	m := message()
	m.Attachments = []channel.Attachment{{Name: "a.bin", MediaType: "application/octet-stream", Data: make([]byte, notify.MaxAttachments)}}
	if _, err := open(t, serve(t, nil), Options{}).Send(t.Context(), m); err != nil {
		t.Error(err)
	}
}

// says answers with the documented body of an error.
func says(status int, name, message string, headers ...string) http.HandlerFunc {
	return sendtest.Says(status, fmt.Sprintf(`{"statusCode":%d,"name":%q,"message":%q}`, status, name, message), headers...)
}

func TestAnswersHaveTheirClass(t *testing.T) {
	t.Parallel()
	const permanent, transient, unknown = channel.ClassPermanent, channel.ClassTransient, channel.ClassUnknown
	const ofChannel, ofMail = channel.FaultAccount, channel.FaultMessage
	sendtest.Answers(t, opened, message(), map[string]sendtest.Case{
		"bad key of a message":  sendtest.To(permanent, "400 invalid_idempotency_key", ofMail, says(400, "invalid_idempotency_key", "no")),
		"bad field":             sendtest.To(permanent, "400 validation_error", "", says(400, "validation_error", "sam@canary.example")),
		"bad field, unclear":    sendtest.To(permanent, "422 validation_error", "", says(422, "validation_error", "Invalid `to` field: sam@canary.example")),
		"no API key":            sendtest.To(transient, "401 missing_api_key", ofChannel, says(401, "missing_api_key", "no")),
		"restricted API key":    sendtest.To(transient, "401 restricted_api_key", ofChannel, says(401, "restricted_api_key", "no")),
		"wrong API key":         sendtest.To(transient, "403 invalid_api_key", ofChannel, says(403, "invalid_api_key", "no")),
		"domain not verified":   sendtest.To(transient, "403 validation_error", ofChannel, says(403, "validation_error", "The canary.example domain is not verified.")),
		"no such endpoint":      sendtest.To(transient, "404 not_found", ofChannel, says(404, "not_found", "no")),
		"another method":        sendtest.To(transient, "405 method_not_allowed", ofChannel, says(405, "method_not_allowed", "no")),
		"a request before":      sendtest.To(unknown, "409 concurrent_idempotent_requests", "", says(409, "concurrent_idempotent_requests", "no")),
		"other parts before":    sendtest.To(unknown, "409 invalid_idempotent_request", "", says(409, "invalid_idempotent_request", "no")),
		"bad attachment":        sendtest.To(permanent, "422 invalid_attachment", ofMail, says(422, "invalid_attachment", "no")),
		"missing field":         sendtest.To(permanent, "422 missing_required_field", ofMail, says(422, "missing_required_field", "no")),
		"bad sender":            sendtest.To(transient, "422 invalid_from_address", ofChannel, says(422, "invalid_from_address", "no")),
		"too many":              sendtest.To(transient, "429 rate_limit_exceeded", ofChannel, says(429, "rate_limit_exceeded", "no", "Retry-After: 7", "RateLimit-Reset: 1")).After(7 * time.Second),
		"too many, reset":       sendtest.To(transient, "429 rate_limit_exceeded", ofChannel, says(429, "rate_limit_exceeded", "no", "RateLimit-Reset: 2")).After(2 * time.Second),
		"too many, reset never": sendtest.To(transient, "429 rate_limit_exceeded", ofChannel, says(429, "rate_limit_exceeded", "no", "RateLimit-Reset: 99999999")),
		"quota of the day":      sendtest.To(transient, "429 daily_quota_exceeded", ofChannel, says(429, "daily_quota_exceeded", "no")),
		"quota of the month":    sendtest.To(transient, "429 monthly_quota_exceeded", ofChannel, says(429, "monthly_quota_exceeded", "no")),
		"security":              sendtest.To(permanent, "451 security_error", "", says(451, "security_error", "no")),
		"fails":                 sendtest.To(unknown, "500 application_error", "", says(500, "application_error", "no")),
		"gateway fails":         sendtest.To(unknown, "502", "", sendtest.Says(502, "<html>canary")),
		"not available":         sendtest.To(transient, "503", channel.FaultProvider, sendtest.Says(503, "")),
		"moved":                 sendtest.To(transient, "308", ofChannel, says(308, "", "", "Location: /emails")),
		"no id":                 sendtest.To(unknown, "200 no-id", "", sendtest.Says(200, `{"object":"email"}`)),
		"no JSON":               sendtest.To(unknown, "200 no-id", "", sendtest.Says(200, "sam@canary.example")),
		"an address as a name":  sendtest.To(permanent, "400", "", says(400, "sam@canary.example", "no")),
		"drops the request":     sendtest.To(unknown, "no answer", "", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }),
		"breaks off":            sendtest.To(unknown, "no whole answer", "", sendtest.Says(200, "", "Content-Length: 100")),
	})
}

func TestI30_SendEndsWithItsContextAndItsTimeout(t *testing.T) {
	t.Parallel()
	answer, read := sendtest.Silent()
	s := serve(t, answering(answer))
	sendtest.Ends(t, open(t, s, Options{}), message(), read)
	sendtest.Late(t, open(t, serve(t, nil), Options{Timeout: time.Nanosecond}), message())
}

func TestNewListsEveryFault(t *testing.T) {
	t.Parallel()
	_, err := New("canary key", &Options{From: "x", ReplyTo: "y", BaseURL: "http://api.example", Timeout: -time.Second, MaxConns: -1})
	sendtest.Faults(t, err, "apiKey", "From", "ReplyTo", "BaseURL", "Timeout", "MaxConns")
	_, err = New("", nil)
	sendtest.Faults(t, err, "apiKey is required")
}

func TestPrintedChannelShowsNoKey(t *testing.T) {
	t.Parallel()
	c, err := New("re_canary", &Options{From: "office@school.example", Key: "email:second"})
	if err != nil || c.Key() != "email:second" {
		t.Fatal(c, err)
	}
	for _, verb := range []string{"%v", "%+v", "%#v"} {
		if text := fmt.Sprintf(verb, c); strings.Contains(text, "canary") {
			t.Error(verb, text)
		}
	}
}
