package postmark

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/notify/channel"
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
	s := serve(t, nil)
	c := open(t, s, Options{})
	for name, change := range map[string]func(*channel.Message){
		"address":    func(m *channel.Message) { m.To = "sam@canary.example, kim@canary.example" },
		"id":         func(m *channel.Message) { m.ID = "A\n" },
		"empty":      func(m *channel.Message) { m.Subject, m.Text = "", "" },
		"template":   func(m *channel.Message) { m.Template.Name = "d-canary" },
		"attachment": func(m *channel.Message) { m.Attachments = []channel.Attachment{{Name: "a"}} },
		"header 1":   func(m *channel.Message) { m.Subject = "Hello\r\nBcc: canary@canary.example" },
		"header 2":   func(m *channel.Message) { m.Name = "Sam\nBcc: canary@canary.example" },
		"header 3":   func(m *channel.Message) { m.Mail.Headers = map[string]string{"X-PM-Tag": "canary"} },
	} {
		m := letter()
		change(&m)
		err := refuse(t, c, m)
		code, _, _ := strings.Cut(name, " ")
		if err.Class != channel.ClassPermanent || err.Code != code || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if s.asked() != 0 {
		t.Errorf("%d requests", s.asked())
	}
}

// outcome is what a Send error comes to.
type outcome struct {
	Class      channel.Class
	Code       string
	Fault      channel.Fault
	Suppress   channel.SuppressionReason
	RetryAfter time.Duration
}

// says is the script that answers with a status, headers ("Name: value") and a
// documented body.
func says(status, code int, message string, headers ...string) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, _ *http.Request) bool {
		for _, h := range headers {
			name, value, _ := strings.Cut(h, ": ")
			w.Header().Set(name, value)
		}
		fault(w, status, code, message)
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
		"wrong token":        {says(401, 10, "no"), outcome{transient, "401 10", ofChannel, "", 0}},
		"maintenance":        {says(422, 100, "no"), outcome{transient, "422 100", ofChannel, "", 0}},
		"invalid request":    {says(422, 300, "Invalid 'To' address: 'sam@canary.example'."), outcome{permanent, "422 300", "", "", 0}},
		"no signature":       {says(422, 400, "no"), outcome{transient, "422 400", ofChannel, "", 0}},
		"not confirmed":      {says(422, 401, "no"), outcome{transient, "422 401", ofChannel, "", 0}},
		"invalid JSON":       {says(422, 402, "no"), outcome{permanent, "422 402", ofMail, "", 0}},
		"incompatible JSON":  {says(422, 403, "no"), outcome{permanent, "422 403", ofMail, "", 0}},
		"out of credits":     {says(422, 405, "no"), outcome{transient, "422 405", ofChannel, "", 0}},
		"inactive recipient": {says(422, 406, "Found inactive addresses: sam@canary.example."), outcome{permanent, "422 406", channel.FaultAddress, channel.HardBounce, 0}},
		"forbidden file":     {says(422, 411, "no"), outcome{permanent, "422 411", ofMail, "", 0}},
		"pending account":    {says(422, 412, "no"), outcome{transient, "422 412", ofChannel, "", 0}},
		"account may not":    {says(422, 413, "no"), outcome{transient, "422 413", ofChannel, "", 0}},
		"rate":               {says(422, 429, "no"), outcome{transient, "422 429", ofChannel, "", 0}},
		"no such stream":     {says(422, 1235, "no"), outcome{transient, "422 1235", ofChannel, "", 0}},
		"another code":       {says(422, 777, "no"), outcome{permanent, "422 777", "", "", 0}},
		"too large":          {writes(413, ""), outcome{permanent, "413", "", "", 0}},
		"no such address":    {writes(404, "<html>"), outcome{transient, "404", ofChannel, "", 0}},
		"too many":           {says(429, 429, "no", "Retry-After: 7"), outcome{transient, "429 429", ofChannel, "", 7 * time.Second}},
		"too many, no body":  {writes(429, ""), outcome{transient, "429", ofChannel, "", 0}},
		"fails":              {says(500, 0, "no"), outcome{unknown, "500", "", "", 0}},
		"fails with a code":  {says(500, 406, "no"), outcome{unknown, "500 406", "", "", 0}},
		"gateway fails":      {writes(502, "<html>canary"), outcome{unknown, "502", "", "", 0}},
		"planned outage":     {says(503, 100, "no", "Retry-After: 120"), outcome{transient, "503 100", ofChannel, "", 2 * time.Minute}},
		"moved":              {writes(308, ""), outcome{transient, "308", ofChannel, "", 0}},
		"no id":              {writes(200, `{"ErrorCode":0,"Message":"OK"}`), outcome{unknown, "200", "", "", 0}},
		"no code":            {writes(200, `{"MessageID":"x"}`), outcome{unknown, "200", "", "", 0}},
		"no JSON":            {writes(200, "sam@canary.example"), outcome{unknown, "200", "", "", 0}},
		"a code all the same": {writes(200, `{"ErrorCode":406,"MessageID":"x","Message":"canary"}`),
			outcome{permanent, "200 406", channel.FaultAddress, channel.HardBounce, 0}},
		"drops the request": {func(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) }, outcome{unknown, "no answer", "", "", 0}},
		"breaks off": {func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Content-Length", "100")
			w.WriteHeader(http.StatusOK)
			return true
		}, outcome{unknown, "no whole answer", "", "", 0}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, c.script)
			err := refuse(t, open(t, s, Options{}), letter())
			if diff := cmp.Diff(c.want, outcome{err.Class, err.Code, err.Fault, err.Suppress, err.RetryAfter}); diff != "" {
				t.Errorf("%v: %s", err, diff)
			}
			if strings.Contains(err.Error(), "canary") || strings.Contains(err.Error(), token) {
				t.Error("personal data in the error:", err)
			}
			if s.asked() != 1 {
				t.Errorf("%d requests", s.asked())
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
	c := open(t, s, Options{Timeout: time.Second / 10})
	if err := refuse(t, c, letter()); err.Class != channel.ClassUnknown {
		t.Error(err)
	}
	if r, err := c.Lookup(t.Context(), letter()); err == nil {
		t.Error(r)
	}
}

func TestNewListsEveryFault(t *testing.T) {
	t.Parallel()
	_, err := New("canary key", &Options{From: "x", ReplyTo: "y", BaseURL: "http://api.example", Timeout: -time.Second, MaxConns: -1})
	for _, want := range []string{"token", "From", "ReplyTo", "BaseURL", "Timeout", "MaxConns"} {
		if !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%v says nothing about %s", err, want)
		}
	}
	if _, missing := New("", nil); missing == nil || strings.Contains(fmt.Sprint(err, missing), "canary") {
		t.Error("the error holds the token, or there is none:", err, missing)
	}
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
