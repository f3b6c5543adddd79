package sendgrid

import (
	"encoding/json"
	"net/http"
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
	sendtest.Unsent(t, opened, message, map[string]func(*channel.Message){
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
	})
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

// says answers with the documented body of an error.
func says(status int, field, message string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		text, _ := json.Marshal(problem(field, message))
		sendtest.Says(status, string(text), headers...)(w, r)
	}
}

func TestAnswersHaveTheirClass(t *testing.T) {
	t.Parallel()
	date := "Date: " + now.Format(http.TimeFormat)
	const permanent, transient, unknown = channel.ClassPermanent, channel.ClassTransient, channel.ClassUnknown
	const ofChannel = channel.FaultAccount
	sendtest.Answers(t, opened, message(), map[string]sendtest.Case{
		"bad address":      sendtest.To(permanent, "400 personalizations.0.to.0.email", channel.FaultAddress, says(400, "personalizations.0.to.0.email", "Does not contain a valid address: sam@canary.example.")).Suppresses(channel.HardBounce),
		"no field":         sendtest.To(permanent, "400", "", says(400, "", "Bad Request")),
		"address as field": sendtest.To(permanent, "400", "", says(400, "sam@canary.example", "no")),
		"no sender":        sendtest.To(transient, "403 from", ofChannel, says(403, "from", "The from address does not match a verified Sender Identity.")),
		"no credits":       sendtest.To(transient, "401", ofChannel, says(401, "", "Maximum credits exceeded")),
		"too large":        sendtest.To(permanent, "413", "", says(413, "", "The JSON payload you have included in your request is too large.")),
		"too many":         sendtest.To(transient, "429", ofChannel, says(429, "", "too many requests", date, "X-RateLimit-Reset: 1772352060")).After(time.Minute),
		"too many, asked":  sendtest.To(transient, "429", ofChannel, says(429, "", "too many requests", date, "Retry-After: 7", "X-RateLimit-Reset: 1772352060")).After(7 * time.Second),
		"reset in a year":  sendtest.To(transient, "429", ofChannel, says(429, "", "too many requests", date, "X-RateLimit-Reset: 1803888000")),
		"reset is over":    sendtest.To(transient, "429", ofChannel, says(429, "", "too many requests", date, "X-RateLimit-Reset: 1")),
		"fails":            sendtest.To(unknown, "500", "", says(500, "", "Internal server error")),
		"gateway fails":    sendtest.To(unknown, "502", "", says(502, "", "Bad Gateway")),
		"not available":    sendtest.To(transient, "503", channel.FaultProvider, says(503, "", "Service unavailable", "Retry-After: 120")).After(2 * time.Minute),
		"sandbox":          sendtest.To(unknown, "200", "", says(200, "", "")),
		"moved":            sendtest.To(transient, "308", ofChannel, says(308, "", "", "Location: /v3/mail/send")),
		"no JSON":          sendtest.To(permanent, "400", "", sendtest.Says(400, "<html>sam@canary.example")),
		"bad name":         sendtest.To(permanent, "400 personalizations.0.to.0.name", channel.FaultAddress, says(400, "personalizations.0.to.0.name", "no")),
		"bad subject":      sendtest.To(permanent, "400 subject", "", says(400, "subject", "no")),
		"bad sender":       sendtest.To(permanent, "400 from.email", "", says(400, "from.email", "no")),
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
	sendtest.Faults(t, err, "apiKey is required; From")
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
