package sendgrid

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

//spec:f-008
func TestMailArrivesAsItWasGiven(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	m := message()
	m.HTML = "<p>It expires <b>soon</b>. <img src=cid:logo></p>"
	m.UnsubscribeURL = "https://school.example/u?t=abc"
	m.Attachments = []channel.Attachment{
		{Name: "certificate.pdf", MediaType: "application/pdf", Data: []byte("%PDF")},
		{Name: "logo.png", MediaType: "image/png", ContentID: "logo", Data: []byte("png")},
	}
	m.Mail = channel.Mail{ReplyTo: "Ann <ann@school.example>", CC: []string{"Kim <kim@bücher.example>"}, BCC: []string{"archive@school.example"},
		InReplyTo: "q1@home.example", References: []string{"booking-7@school.example", "q1@home.example"}, Headers: map[string]string{"Importance": "high"}}
	c := open(t, s, Options{ReplyTo: "Head <head@school.example>"})
	receipt, err := c.Send(t.Context(), m)
	if err != nil || receipt.ID != "LRzXl_NHStOGhQ4kofSm_A" {
		t.Fatal(receipt, err)
	}
	requests, mails := s.seen()
	want := []mailRequest{{
		Personalizations: []personalization{{To: []party{{"sam@canary.example", "Sam"}}, CC: []party{{"kim@xn--bcher-kva.example", "Kim"}}, BCC: []party{{Email: "archive@school.example"}}, CustomArgs: map[string]string{"belfry_message": id}}},
		From:             &party{"office@school.example", "School"}, ReplyTo: &party{"ann@school.example", "Ann"},
		Subject: "Your certificate", Content: []part{{"text/plain", m.Text}, {"text/html", m.HTML}},
		Attachments: []attachment{
			{[]byte("%PDF"), "application/pdf", "certificate.pdf", "attachment", ""},
			{[]byte("png"), "image/png", "logo.png", "inline", "logo"},
		},
		Headers: map[string]string{"Auto-Submitted": "auto-generated", "List-Unsubscribe": "<https://school.example/u?t=abc>",
			"List-Unsubscribe-Post": "List-Unsubscribe=One-Click", "Importance": "high",
			"In-Reply-To": "<q1@home.example>", "References": "<booking-7@school.example> <q1@home.example>"},
	}}
	if diff := cmp.Diff(want, mails); diff != "" || requests != 1 {
		t.Error(requests, diff)
	}
}

func TestEveryPartMayBeMissingButTheSubject(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	c := open(t, s, Options{})
	m := message()
	for _, parts := range []struct{ text, html string }{{"text", ""}, {"", "<p>html"}, {"", ""}} {
		m.Text, m.HTML = parts.text, parts.html
		if _, err := c.Send(t.Context(), m); err != nil {
			t.Error(parts, err)
		}
	}
	_, mails := s.seen()
	want := [][]part{{{"text/plain", "text"}}, {{"text/html", "<p>html"}}, {{"text/plain", "Your certificate"}}}
	var got [][]part
	for _, m := range mails {
		got = append(got, m.Content)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
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
		"header 4":   func(m *channel.Message) { m.UnsubscribeURL = "https://a.b/>,<mailto:canary@canary.example" },
		"header 5":   func(m *channel.Message) { m.UnsubscribeURL = "javascript:canary" },
		"header 7":   func(m *channel.Message) { m.Mail.ReplyTo = "a@b.example\r\nBcc: canary@canary.example" },
		"header 8":   func(m *channel.Message) { m.Mail.Headers = map[string]string{"X-SMTPAPI": "canary"} },
		"header 9":   func(m *channel.Message) { m.Mail.CC = []string{"canary@canary.example", "CANARY@canary.example"} },
		"header 6": func(m *channel.Message) {
			m.Attachments = []channel.Attachment{{Name: "a\r\nb: canary", Data: []byte("a")}}
		},
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
	s := serve(t, nil)
	m := message()
	m.Attachments = []channel.Attachment{{Name: "a.bin", MediaType: "application/octet-stream", Data: make([]byte, notify.MaxAttachments)}}
	if _, err := open(t, s, Options{}).Send(t.Context(), m); err != nil {
		t.Error(err)
	}
}

func TestWrongKeyIsTransient(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	c, err := New("SG.canary", &Options{From: "office@school.example", BaseURL: s.url})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := refuse(t, c, message()); err.Class != channel.ClassTransient || err.Code != "401" || strings.Contains(err.Error(), "canary") {
		t.Error(err)
	}
}

func TestMissingMessageIDIsNoFault(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(http.StatusAccepted)
		return true
	})
	if receipt, err := open(t, s, Options{}).Send(t.Context(), message()); err != nil || receipt.ID != "" {
		t.Error(receipt, err)
	}
}

// outcome is what a Send error comes to.
type outcome struct {
	Class      channel.Class
	Code       string
	RetryAfter time.Duration
}

// says is the script that answers with a status, headers ("Name: value") and a
// documented body.
func says(status int, field, message string, headers ...string) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, _ *http.Request) bool {
		for _, h := range headers {
			name, value, _ := strings.Cut(h, ": ")
			w.Header().Set(name, value)
		}
		fault(w, status, field, message)
		return true
	}
}

func TestAnswersHaveTheirClass(t *testing.T) {
	t.Parallel()
	date := "Date: " + now.Format(http.TimeFormat)
	for name, c := range map[string]struct {
		script func(http.ResponseWriter, *http.Request) bool
		want   outcome
	}{
		"bad address":      {says(400, "personalizations.0.to.0.email", "Does not contain a valid address: sam@canary.example."), outcome{channel.ClassPermanent, "400 personalizations.0.to.0.email", 0}},
		"no field":         {says(400, "", "Bad Request"), outcome{channel.ClassPermanent, "400", 0}},
		"address as field": {says(400, "sam@canary.example", "no"), outcome{channel.ClassPermanent, "400", 0}},
		"no sender":        {says(403, "from", "The from address does not match a verified Sender Identity."), outcome{channel.ClassTransient, "403 from", 0}},
		"no credits":       {says(401, "", "Maximum credits exceeded"), outcome{channel.ClassTransient, "401", 0}},
		"too large":        {says(413, "", "The JSON payload you have included in your request is too large."), outcome{channel.ClassPermanent, "413", 0}},
		"too many":         {says(429, "", "too many requests", date, "X-RateLimit-Reset: 1772352060"), outcome{channel.ClassTransient, "429", time.Minute}},
		"too many, asked":  {says(429, "", "too many requests", date, "Retry-After: 7", "X-RateLimit-Reset: 1772352060"), outcome{channel.ClassTransient, "429", 7 * time.Second}},
		"reset in a year":  {says(429, "", "too many requests", date, "X-RateLimit-Reset: 1803888000"), outcome{channel.ClassTransient, "429", 0}},
		"reset is over":    {says(429, "", "too many requests", date, "X-RateLimit-Reset: 1"), outcome{channel.ClassTransient, "429", 0}},
		"fails":            {says(500, "", "Internal server error"), outcome{channel.ClassUnknown, "500", 0}},
		"gateway fails":    {says(502, "", "Bad Gateway"), outcome{channel.ClassUnknown, "502", 0}},
		"not available":    {says(503, "", "Service unavailable", "Retry-After: 120"), outcome{channel.ClassTransient, "503", 2 * time.Minute}},
		"sandbox":          {says(200, "", ""), outcome{channel.ClassUnknown, "200", 0}},
		"moved":            {says(308, "", "", "Location: /v3/mail/send"), outcome{channel.ClassTransient, "308", 0}},
		"no JSON": {func(w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(400)
			_, _ = io.WriteString(w, "<html>sam@canary.example")
			return true
		}, outcome{channel.ClassPermanent, "400", 0}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, c.script)
			err := refuse(t, open(t, s, Options{}), message())
			if diff := cmp.Diff(c.want, outcome{err.Class, err.Code, err.RetryAfter}); diff != "" {
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
	if strings.Contains(fmt.Sprint(err), "canary") {
		t.Error("the error holds the key:", err)
	}
	if _, err := New("", nil); err == nil || !strings.Contains(err.Error(), "apiKey is required; From") {
		t.Error(err)
	}
}

func TestKeyMayBeChosen(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{"": "email:sendgrid", "email:eu": "email:eu"} {
		c, err := New(apiKey, &Options{Key: key, From: "office@school.example"})
		if err != nil || c.Key() != want {
			t.Error(c, err)
		}
	}
}

func TestPrintedChannelShowsNoKey(t *testing.T) {
	t.Parallel()
	c, err := New("SG.canary", &Options{From: "office@school.example"})
	if err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"%v", "%+v", "%#v"} {
		if text := fmt.Sprintf(verb, c); strings.Contains(text, "canary") {
			t.Error(verb, text)
		}
	}
}

func TestAnswersBlameTheChannelOrTheAddress(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script func(http.ResponseWriter, *http.Request) bool
		want   channel.Fault
	}{
		"bad address":   {says(400, "personalizations.0.to.0.email", "no"), channel.FaultAddress},
		"bad subject":   {says(400, "subject", "no"), ""},
		"wrong key":     {says(401, "", "no"), channel.FaultChannel},
		"too many":      {says(429, "", "no"), channel.FaultChannel},
		"not available": {says(503, "", "no"), channel.FaultChannel},
		"fails":         {says(500, "", "no"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := refuse(t, open(t, serve(t, c.script), Options{}), message()); err.Fault != c.want {
				t.Errorf("%v blames %q, want %q", err, err.Fault, c.want)
			}
		})
	}
}

func TestAnswersSuppressWhatIsNoAddress(t *testing.T) {
	t.Parallel()
	for field, want := range map[string]channel.SuppressionReason{
		"personalizations.0.to.0.email": channel.HardBounce, "personalizations.0.to.0.name": "", "subject": "", "from.email": "",
	} {
		t.Run(field, func(t *testing.T) {
			t.Parallel()
			if err := refuse(t, open(t, serve(t, says(400, field, "no")), Options{}), message()); err.Suppress != want {
				t.Errorf("%v suppresses for %q, want %q", err, err.Suppress, want)
			}
		})
	}
}
