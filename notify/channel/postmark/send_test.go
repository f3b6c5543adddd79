package postmark

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/channel/internal/sendtest"
)

func TestMailArrivesAsItWasGiven(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	m := letter()
	m.Name = `Müller, "Sam"`
	m.HTML = "<p>It expires <b>soon</b>. <img src=cid:logo></p>"
	m.UnsubscribeURL = "https://school.example/u?t=abc"
	m.Attachments = []channel.Attachment{
		{Name: "certificate.pdf", MediaType: "application/pdf", Data: []byte("%PDF")},
		{Name: "logo.png", MediaType: "image/png", ContentID: "logo", Data: []byte("png")},
	}
	m.Mail = channel.Mail{ReplyTo: "Ann <ann@school.example>", CC: []string{"Kim <kim@bücher.example>", "leo@home.example"}, BCC: []string{"archive@school.example"},
		InReplyTo: "q1@home.example", References: []string{"booking-7@school.example", "q1@home.example"}, Headers: map[string]string{"Importance": "high"}}
	receipt, err := open(t, s, Options{ReplyTo: "Head <head@school.example>", Stream: "broadcast"}).Send(t.Context(), m)
	if err != nil || receipt.ID != "b7bc2f4a-1" {
		t.Fatal(receipt, err)
	}
	want := []email{{
		From: `"School" <office@school.example>`, To: `"Müller, \"Sam\"" <sam@canary.example>`,
		CC: `"Kim" <kim@xn--bcher-kva.example>, leo@home.example`, BCC: "archive@school.example", ReplyTo: `"Ann" <ann@school.example>`,
		Subject: "Your certificate", Text: m.Text, HTML: m.HTML,
		Headers: []header{{"Auto-Submitted", "auto-generated"}, {"Importance", "high"}, {"In-Reply-To", "<q1@home.example>"},
			{"List-Unsubscribe", "<https://school.example/u?t=abc>"}, {"List-Unsubscribe-Post", "List-Unsubscribe=One-Click"},
			{"References", "<booking-7@school.example> <q1@home.example>"}},
		Attachments: []attachment{{"certificate.pdf", []byte("%PDF"), "application/pdf", ""}, {"logo.png", []byte("png"), "image/png", "cid:logo"}},
		Metadata:    map[string]string{"belfry_message": id}, MessageStream: "broadcast",
	}}
	if diff := cmp.Diff(want, s.sent()); diff != "" || s.asked() != 1 {
		t.Error(s.asked(), diff)
	}
}

func TestEveryPartMayBeMissing(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	c := open(t, s, Options{ReplyTo: "head@school.example"})
	var want []string
	for _, parts := range []struct{ subject, text, html, want string }{
		{"s", "text", "", "s/text/"}, {"s", "", "<p>", "s//<p>"}, {"s", "", "", "s/s/"}, {"", "text", "", "/text/"},
	} {
		m := letter()
		m.Name, m.Subject, m.Text, m.HTML = "", parts.subject, parts.text, parts.html
		if _, err := c.Send(t.Context(), m); err != nil {
			t.Error(parts, err)
		}
		want = append(want, parts.want+"/head@school.example")
	}
	var got []string
	for _, m := range s.sent() {
		got = append(got, m.Subject+"/"+m.Text+"/"+m.HTML+"/"+m.ReplyTo)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestMessageThatMakesNoMailIsRefusedUnsent(t *testing.T) {
	t.Parallel()
	sendtest.Unsent(t, opened, letter, map[string]func(*channel.Message){
		"address":    func(m *channel.Message) { m.To = "sam@canary.example, kim@canary.example" },
		"id":         func(m *channel.Message) { m.ID = "A\n" },
		"empty":      func(m *channel.Message) { m.Subject, m.Text = "", "" },
		"template":   func(m *channel.Message) { m.Template.Name = "d-canary" },
		"attachment": func(m *channel.Message) { m.Attachments = []channel.Attachment{{Name: "a"}} },
		"header 1":   func(m *channel.Message) { m.Subject = "Hello\r\nBcc: canary@canary.example" },
		"header 2":   func(m *channel.Message) { m.Name = "Sam\nBcc: canary@canary.example" },
		"header 3":   func(m *channel.Message) { m.Mail.Headers = map[string]string{"X-PM-Tag": "canary"} },
	})
}

// says answers with the documented body of an error.
func says(status, code int, message string, headers ...string) http.HandlerFunc {
	return sendtest.Says(status, fmt.Sprintf(`{"ErrorCode":%d,"Message":%q}`, code, message), headers...)
}

func TestAnswersHaveTheirClass(t *testing.T) {
	t.Parallel()
	const permanent, transient, unknown = channel.ClassPermanent, channel.ClassTransient, channel.ClassUnknown
	const ofChannel, ofMail = channel.FaultAccount, channel.FaultMessage
	sendtest.Answers(t, opened, letter(), map[string]sendtest.Case{
		"wrong token":         sendtest.To(transient, "401 10", ofChannel, says(401, 10, "no")),
		"maintenance":         sendtest.To(transient, "422 100", ofChannel, says(422, 100, "no")),
		"invalid request":     sendtest.To(permanent, "422 300", "", says(422, 300, "Invalid 'To' address: 'sam@canary.example'.")),
		"no signature":        sendtest.To(transient, "422 400", ofChannel, says(422, 400, "no")),
		"not confirmed":       sendtest.To(transient, "422 401", ofChannel, says(422, 401, "no")),
		"invalid JSON":        sendtest.To(permanent, "422 402", ofMail, says(422, 402, "no")),
		"incompatible JSON":   sendtest.To(permanent, "422 403", ofMail, says(422, 403, "no")),
		"out of credits":      sendtest.To(transient, "422 405", ofChannel, says(422, 405, "no")),
		"inactive recipient":  sendtest.To(permanent, "422 406", channel.FaultAddress, says(422, 406, "Found inactive addresses: sam@canary.example.")).Suppresses(channel.HardBounce),
		"forbidden file":      sendtest.To(permanent, "422 411", ofMail, says(422, 411, "no")),
		"pending account":     sendtest.To(transient, "422 412", ofChannel, says(422, 412, "no")),
		"account may not":     sendtest.To(transient, "422 413", ofChannel, says(422, 413, "no")),
		"rate":                sendtest.To(transient, "422 429", ofChannel, says(422, 429, "no")),
		"no such stream":      sendtest.To(transient, "422 1235", ofChannel, says(422, 1235, "no")),
		"another code":        sendtest.To(permanent, "422 777", "", says(422, 777, "no")),
		"too large":           sendtest.To(permanent, "413", "", sendtest.Says(413, "")),
		"no such address":     sendtest.To(transient, "404", ofChannel, sendtest.Says(404, "<html>")),
		"too many":            sendtest.To(transient, "429 429", ofChannel, says(429, 429, "no", "Retry-After: 7")).After(7 * time.Second),
		"too many, no body":   sendtest.To(transient, "429", ofChannel, sendtest.Says(429, "")),
		"fails":               sendtest.To(unknown, "500", "", says(500, 0, "no")),
		"fails with a code":   sendtest.To(unknown, "500 406", "", says(500, 406, "no")),
		"gateway fails":       sendtest.To(unknown, "502", "", sendtest.Says(502, "<html>canary")),
		"planned outage":      sendtest.To(transient, "503 100", channel.FaultProvider, says(503, 100, "no", "Retry-After: 120")).After(2 * time.Minute),
		"moved":               sendtest.To(transient, "308", ofChannel, sendtest.Says(308, "")),
		"no id":               sendtest.To(unknown, "200", "", sendtest.Says(200, `{"ErrorCode":0,"Message":"OK"}`)),
		"no code":             sendtest.To(unknown, "200", "", sendtest.Says(200, `{"MessageID":"x"}`)),
		"no JSON":             sendtest.To(unknown, "200", "", sendtest.Says(200, "sam@canary.example")),
		"a code all the same": sendtest.To(permanent, "200 406", channel.FaultAddress, sendtest.Says(200, `{"ErrorCode":406,"MessageID":"x","Message":"canary"}`)).Suppresses(channel.HardBounce),
		"drops the request":   sendtest.To(unknown, "no answer", "", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }),
		"breaks off":          sendtest.To(unknown, "no whole answer", "", sendtest.Says(200, "", "Content-Length: 100")),
	})
}

func TestI30_SendEndsWithItsContextAndItsTimeout(t *testing.T) {
	t.Parallel()
	answer, read := sendtest.Silent()
	s := serve(t, answering(answer))
	sendtest.Ends(t, open(t, s, Options{}), letter(), read)
	late := open(t, serve(t, nil), Options{Timeout: time.Nanosecond})
	sendtest.Late(t, late, letter())
	if r, err := late.Lookup(t.Context(), letter()); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(r, err)
	}
}

func TestNewListsEveryFault(t *testing.T) {
	t.Parallel()
	_, err := New("canary key", &Options{From: "x", ReplyTo: "y", BaseURL: "http://api.example", Timeout: -time.Second, MaxConns: -1})
	sendtest.Faults(t, err, "token", "From", "ReplyTo", "BaseURL", "Timeout", "MaxConns")
	_, err = New("", nil)
	sendtest.Faults(t, err, "token is required")
}

func TestPrintedChannelShowsNoToken(t *testing.T) {
	t.Parallel()
	c, err := New("canary", &Options{From: "office@school.example", Key: "email:second"})
	if err != nil || c.Key() != "email:second" {
		t.Fatal(c, err)
	}
	for _, verb := range []string{"%v", "%+v", "%#v"} {
		if text := fmt.Sprintf(verb, c); strings.Contains(text, "canary") {
			t.Error(verb, text)
		}
	}
}
