package smtp

import (
	"bytes"
	"encoding/base64"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	netmail "net/mail"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/notify/channel"
)

// letter is what a reader makes of a mail of one part.
type letter struct{ From, To, Subject, MessageID, Date, Text string }

func read(t *testing.T, raw string) letter {
	t.Helper()
	m, err := netmail.ReadMessage(strings.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	var words mime.WordDecoder
	decode := func(key string) string {
		text, err := words.DecodeHeader(m.Header.Get(key))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	text, err := io.ReadAll(quotedprintable.NewReader(m.Body))
	if err != nil {
		t.Fatal(err)
	}
	return letter{decode("From"), decode("To"), decode("Subject"), decode("Message-Id"), decode("Date"), string(text)}
}

func TestServerGetsWhatTheMessageSays(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"dots":        ".\r\n..\r\n.. two\r\n.QUIT\r\n",
		"end of data": "before\r\n.\r\nMAIL FROM:<eve@example.com>\r\n",
		"long line":   strings.Repeat("long ", 2000) + strings.Repeat("x", 5000) + "\r\n",
		"unicode":     "Grüße, 李小龙 ✓\r\n",
		"both ways":   "مرحبا سام، שלום 👩🏽‍🎓 \u202bתעודה\u202c 📅 Ünïcode\r\n",
		"five MB":     strings.Repeat(strings.Repeat("ten bytes ", 7)+"\r\n", 5<<20/72),
		"no end":      "no line break at the end",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, &server{roomy: true})
			m := message()
			m.Name, m.Subject, m.Text = "Zoë Ó Briain", "Prüfung läuft ab – ✓", text
			send(t, open(t, s.addr, nil), m)
			want := letter{From: `"School" <office@school.example>`, To: "Zoë Ó Briain <sam@example.com>", Subject: m.Subject,
				MessageID: "<" + id + "@school.example>", Date: "Sun, 01 Mar 2026 08:00:00 +0000", Text: text}
			mails := s.accepted()
			got := read(t, mails[0])
			got.Text = strings.TrimSuffix(got.Text, "\r\n") // the end of data is on a line of its own
			want.Text = strings.TrimSuffix(want.Text, "\r\n")
			if diff := cmp.Diff(want, got); diff != "" || len(mails) != 1 {
				t.Error(len(mails), diff)
			}
			if bytes.IndexFunc([]byte(mails[0]), func(r rune) bool { return r > 127 }) >= 0 {
				t.Error("the mail is not ASCII")
			}
		})
	}
}

func TestHeaderInjectionDoesNotReachTheServer(t *testing.T) {
	t.Parallel()
	s := serve(t, &server{})
	c := open(t, s.addr, nil)
	for name, change := range map[string]func(*channel.Message){
		"subject": func(m *channel.Message) { m.Subject = "a\r\nBcc: eve@example.com" },
		"name":    func(m *channel.Message) { m.Name = "a\nBcc: eve@example.com" },
		"address": func(m *channel.Message) { m.To = "sam@example.com>\r\nRCPT TO:<eve@example.com" },
		"second":  func(m *channel.Message) { m.To = "sam@example.com,eve@example.com" },
		"cc":      func(m *channel.Message) { m.Mail.CC = []string{"a@example.com>\r\nBcc: <eve@example.com"} },
		"bcc":     func(m *channel.Message) { m.Mail.BCC = []string{"a@example.com, eve@example.com"} },
		"answers": func(m *channel.Message) { m.Mail.ReplyTo = "a@example.com\r\nBcc: eve@example.com" },
		"encoded": func(m *channel.Message) {
			m.Mail.CC = []string{"=?utf-8?q?a=0D=0ABcc:_eve=40example.com?= <a@example.com>"}
		},
		"thread":  func(m *channel.Message) { m.Mail.References = []string{"a@b>\r\nBcc: <eve@example.com"} },
		"header":  func(m *channel.Message) { m.Mail.Headers = map[string]string{"X-A": "b\r\nBcc: eve@example.com"} },
		"name of": func(m *channel.Message) { m.Mail.Headers = map[string]string{"X-A: b\r\nBcc": "eve@example.com"} },
		"to":      func(m *channel.Message) { m.Mail.Headers = map[string]string{"tO": "eve@example.com"} },
		"relay": func(m *channel.Message) {
			m.Mail.Headers = map[string]string{"X-SMTPAPI": `{"to":["eve@example.com"]}`}
		},
		"id": func(m *channel.Message) { m.ID = "a>\r\nBcc: <eve@example.com" },
	} {
		m := message()
		change(&m)
		if err := refuse(t.Context(), t, c, m); err.Class != channel.ClassPermanent {
			t.Errorf("%s: %v", name, err)
		}
	}
	wantConnections(t, s, 0)
}

func TestQuotedLocalPartStaysQuoted(t *testing.T) {
	t.Parallel()
	s := serve(t, &server{})
	m := message()
	m.To = `"sam> NOTIFY=NEVER"@example.com`
	send(t, open(t, s.addr, nil), m)
	if s.seen(`RCPT TO:<"sam> NOTIFY=NEVER"@example.com>`) != 1 {
		t.Error(s.commands)
	}
}

func TestSMTPUTF8IsUsedOnlyWhereItIsNeeded(t *testing.T) {
	t.Parallel()
	able, unable := serve(t, &server{offers: []string{"8BITMIME", "SMTPUTF8"}}), serve(t, &server{})
	plain, utf8 := message(), message()
	utf8.To = "jörg@example.com"
	c := open(t, able.addr, nil)
	send(t, c, plain)
	send(t, c, utf8)
	send(t, c, plain)
	want := []string{"MAIL FROM:<office@school.example> BODY=8BITMIME", "MAIL FROM:<office@school.example> BODY=8BITMIME SMTPUTF8",
		"MAIL FROM:<office@school.example> BODY=8BITMIME"}
	var got []string
	for _, line := range able.commands {
		if strings.HasPrefix(line, "MAIL") {
			got = append(got, line)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if err := refuse(t.Context(), t, open(t, unable.addr, nil), utf8); err.Class != channel.ClassPermanent || err.Code != "smtputf8" {
		t.Error(err)
	}
}

// leaf is one part of a mail, and the multiparts that it is in.
type leaf struct{ Path, Kind, Name, Data string }

func leaves(t *testing.T, raw string) (all []leaf) {
	t.Helper()
	m, err := netmail.ReadMessage(strings.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	var walk func(path string, header func(string) string, body io.Reader)
	walk = func(path string, header func(string) string, body io.Reader) {
		kind, params, err := mime.ParseMediaType(header("Content-Type"))
		if err != nil {
			t.Fatal(err)
		}
		if in, ok := strings.CutPrefix(kind, "multipart/"); ok {
			parts := multipart.NewReader(body, params["boundary"])
			for p, err := parts.NextPart(); err != io.EOF; p, err = parts.NextPart() {
				if err != nil {
					t.Fatal(err)
				}
				walk(path+in+"/", p.Header.Get, p)
			}
			return
		}
		if header("Content-Transfer-Encoding") == "base64" {
			body = base64.NewDecoder(base64.StdEncoding, body)
		}
		data, err := io.ReadAll(body)
		if err != nil {
			t.Fatal(err)
		}
		_, names, _ := mime.ParseMediaType(header("Content-Disposition"))
		all = append(all, leaf{path, kind, names["filename"], string(data)})
	}
	walk("", m.Header.Get, m.Body)
	return all
}

// withParts is a message with a picture in its HTML and a file of that size that
// has every byte.
func withParts(size int) (channel.Message, []leaf) {
	m := message()
	m.Text, m.HTML = "It expires soon.", "<img src=cid:logo>"
	var every []byte
	for i := range size {
		every = append(every, byte(i))
	}
	m.Attachments = []channel.Attachment{
		{Name: "Prüfung.pdf", MediaType: "application/pdf", Data: every},
		{Name: "logo.png", MediaType: "image/png", ContentID: "logo", Data: bytes.Repeat([]byte{'.', '\r', '\n'}, 1000)},
	}
	return m, []leaf{
		{"mixed/related/alternative/", "text/plain", "", m.Text}, {"mixed/related/alternative/", "text/html", "", m.HTML},
		{"mixed/related/", "image/png", "logo.png", string(m.Attachments[1].Data)}, {"mixed/", "application/pdf", "Prüfung.pdf", string(every)},
	}
}

func TestServerGetsEveryPart(t *testing.T) {
	t.Parallel()
	s := serve(t, &server{})
	m, want := withParts(3000)
	m.UnsubscribeURL = "https://school.example/u?t=abc"
	send(t, open(t, s.addr, nil), m)
	got := s.accepted()[0]
	if diff := cmp.Diff(want, leaves(t, got)); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(got, "List-Unsubscribe: <https://school.example/u?t=abc>\r\nList-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n") {
		t.Error("no way to unsubscribe")
	}
}

func TestAttachmentThatNoMailCanHoldDoesNotReachTheServer(t *testing.T) {
	t.Parallel()
	s := serve(t, &server{})
	m, _ := withParts(1)
	m.Attachments[0].Name = "a\r\nBcc: eve@example.com"
	if err := refuse(t.Context(), t, open(t, s.addr, nil), m); err.Class != channel.ClassPermanent || err.Code != "attachment" {
		t.Error(err)
	}
	wantConnections(t, s, 0)
}
