package resend

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
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
	s := serve(t, nil)
	c := open(t, s, Options{})
	for name, change := range map[string]func(*channel.Message){
		"address":    func(m *channel.Message) { m.To = "Sam <sam@canary.example>" },
		"id":         func(m *channel.Message) { m.ID = "A\n" },
		"subject":    func(m *channel.Message) { m.Subject = "" },
		"template":   func(m *channel.Message) { m.Template.Name = "d-canary" },
		"attachment": func(m *channel.Message) { m.Attachments = []channel.Attachment{{Name: "a"}} },
		"header 1":   func(m *channel.Message) { m.Subject = "Hello\r\nBcc: canary@canary.example" },
		"header 2":   func(m *channel.Message) { m.Name = "Sam\nBcc: canary@canary.example" },
		"header 3":   func(m *channel.Message) { m.UnsubscribeURL = "https://a.b/\r\nBcc: canary@canary.example" },
		"header 4":   func(m *channel.Message) { m.Mail.Headers = map[string]string{"X-SMTPAPI": "canary"} },
	} {
		m := message()
		change(&m)
		err := refuse(t, c, m)
		code, _, _ := strings.Cut(name, " ")
		if err.Class != channel.ClassPermanent || err.Code != code || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if requests, _ := s.seen(); requests != 0 {
		t.Errorf("%d requests", requests)
	}
}

func TestLargestAttachmentsAreSent(t *testing.T) {
	t.Parallel()
	m := message()
	m.Attachments = []channel.Attachment{{Name: "a.bin", MediaType: "application/octet-stream", Data: make([]byte, notify.MaxAttachments)}}
	if _, err := open(t, serve(t, nil), Options{}).Send(t.Context(), m); err != nil {
		t.Error(err)
	}
}

// outcome is what a Send error comes to.
type outcome struct {
	Class      channel.Class
	Code       string
	Fault      channel.Fault
	RetryAfter time.Duration
}

// says is the script that answers with a status, headers ("Name: value") and a
// documented body.
func says(status int, name, message string, headers ...string) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, _ *http.Request) bool {
		for _, h := range headers {
			name, value, _ := strings.Cut(h, ": ")
			w.Header().Set(name, value)
		}
		fault(w, status, name, message)
		return true
	}
}

// writes is the script that answers with a status and any body.
func writes(status int, body string) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
		return true
	}
}

func TestAnswersHaveTheirClass(t *testing.T) {
	t.Parallel()
	const permanent, transient, unknown = channel.ClassPermanent, channel.ClassTransient, channel.ClassUnknown
	const ofChannel, ofMail = channel.FaultChannel, channel.FaultMessage
	for name, c := range map[string]struct {
		script func(http.ResponseWriter, *http.Request) bool
		want   outcome
	}{
		"bad key of a message":  {says(400, "invalid_idempotency_key", "no"), outcome{permanent, "400 invalid_idempotency_key", ofMail, 0}},
		"bad field":             {says(400, "validation_error", "sam@canary.example"), outcome{permanent, "400 validation_error", "", 0}},
		"bad field, unclear":    {says(422, "validation_error", "Invalid `to` field: sam@canary.example"), outcome{permanent, "422 validation_error", "", 0}},
		"no API key":            {says(401, "missing_api_key", "no"), outcome{transient, "401 missing_api_key", ofChannel, 0}},
		"restricted API key":    {says(401, "restricted_api_key", "no"), outcome{transient, "401 restricted_api_key", ofChannel, 0}},
		"wrong API key":         {says(403, "invalid_api_key", "no"), outcome{transient, "403 invalid_api_key", ofChannel, 0}},
		"domain not verified":   {says(403, "validation_error", "The canary.example domain is not verified."), outcome{transient, "403 validation_error", ofChannel, 0}},
		"no such endpoint":      {says(404, "not_found", "no"), outcome{transient, "404 not_found", ofChannel, 0}},
		"another method":        {says(405, "method_not_allowed", "no"), outcome{transient, "405 method_not_allowed", ofChannel, 0}},
		"a request before":      {says(409, "concurrent_idempotent_requests", "no"), outcome{unknown, "409 concurrent_idempotent_requests", "", 0}},
		"other parts before":    {says(409, "invalid_idempotent_request", "no"), outcome{unknown, "409 invalid_idempotent_request", "", 0}},
		"bad attachment":        {says(422, "invalid_attachment", "no"), outcome{permanent, "422 invalid_attachment", ofMail, 0}},
		"missing field":         {says(422, "missing_required_field", "no"), outcome{permanent, "422 missing_required_field", ofMail, 0}},
		"bad sender":            {says(422, "invalid_from_address", "no"), outcome{transient, "422 invalid_from_address", ofChannel, 0}},
		"too many":              {says(429, "rate_limit_exceeded", "no", "Retry-After: 7", "RateLimit-Reset: 1"), outcome{transient, "429 rate_limit_exceeded", ofChannel, 7 * time.Second}},
		"too many, reset":       {says(429, "rate_limit_exceeded", "no", "RateLimit-Reset: 2"), outcome{transient, "429 rate_limit_exceeded", ofChannel, 2 * time.Second}},
		"too many, reset never": {says(429, "rate_limit_exceeded", "no", "RateLimit-Reset: 99999999"), outcome{transient, "429 rate_limit_exceeded", ofChannel, 0}},
		"quota of the day":      {says(429, "daily_quota_exceeded", "no"), outcome{transient, "429 daily_quota_exceeded", ofChannel, 0}},
		"quota of the month":    {says(429, "monthly_quota_exceeded", "no"), outcome{transient, "429 monthly_quota_exceeded", ofChannel, 0}},
		"security":              {says(451, "security_error", "no"), outcome{permanent, "451 security_error", "", 0}},
		"fails":                 {says(500, "application_error", "no"), outcome{unknown, "500 application_error", "", 0}},
		"gateway fails":         {writes(502, "<html>canary"), outcome{unknown, "502", "", 0}},
		"not available":         {writes(503, ""), outcome{unknown, "503", "", 0}},
		"moved":                 {says(308, "", "", "Location: /emails"), outcome{transient, "308", ofChannel, 0}},
		"no id":                 {writes(200, `{"object":"email"}`), outcome{unknown, "200 no-id", "", 0}},
		"no JSON":               {writes(200, "sam@canary.example"), outcome{unknown, "200 no-id", "", 0}},
		"an address as a name":  {says(400, "sam@canary.example", "no"), outcome{permanent, "400", "", 0}},
		"drops the request":     {func(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) }, outcome{unknown, "no answer", "", 0}},
		"breaks off": {func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Content-Length", "100")
			w.WriteHeader(http.StatusOK)
			return true
		}, outcome{unknown, "no whole answer", "", 0}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, c.script)
			err := refuse(t, open(t, s, Options{}), message())
			if diff := cmp.Diff(c.want, outcome{err.Class, err.Code, err.Fault, err.RetryAfter}); diff != "" {
				t.Errorf("%v: %s", err, diff)
			}
			if strings.Contains(err.Error(), "canary") || strings.Contains(err.Error(), apiKey) {
				t.Error("personal data in the error:", err)
			}
			if requests, _ := s.seen(); requests != 1 {
				t.Errorf("%d requests", requests)
			}
		})
	}
}

func TestI30_SendReturnsAfterItsTimeout(t *testing.T) {
	t.Parallel()
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) bool {
		<-r.Context().Done()
		return true
	})
	if err := refuse(t, open(t, s, Options{Timeout: time.Second / 10}), message()); err.Class != channel.ClassUnknown {
		t.Error(err)
	}
}

func TestNewListsEveryFault(t *testing.T) {
	t.Parallel()
	_, err := New("canary key", &Options{From: "x", ReplyTo: "y", BaseURL: "http://api.example", Timeout: -time.Second, MaxConns: -1})
	for _, want := range []string{"apiKey", "From", "ReplyTo", "BaseURL", "Timeout", "MaxConns"} {
		if !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%v says nothing about %s", err, want)
		}
	}
	if _, missing := New("", nil); missing == nil || strings.Contains(fmt.Sprint(err, missing), "canary") {
		t.Error("the error holds the key, or there is none:", err, missing)
	}
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
