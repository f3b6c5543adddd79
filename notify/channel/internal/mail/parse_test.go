package mail_test

import (
	"bytes"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	netmail "net/mail"
	"strings"
	"testing"
	"time"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/channel/internal/mail"
)

// letter is what a reader makes of a mail.
type letter struct {
	Subject, ToName, To string
	Text, HTML          string
}

func message() channel.Message {
	return channel.Message{
		ID: "0123456789abcdef0123456789abcdef", To: "sam@example.com", Name: "Sam",
		Subject: "Your certificate", Text: "It expires soon.",
		On: time.Date(2026, 3, 1, 8, 30, 0, 0, time.FixedZone("", 3600)),
	}
}

func sender(t testing.TB) mail.Sender {
	t.Helper()
	s, err := mail.NewSender("School Office <office@school.example>", "")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func build(t testing.TB, m channel.Message) *mail.Mail {
	t.Helper()
	built, err := sender(t).Build(m)
	if err != nil {
		t.Fatal(err)
	}
	return built
}

// read parses a mail as any reader does, with nothing but the standard library.
func read(raw []byte) (letter, *netmail.Message, error) {
	var l letter
	msg, err := netmail.ReadMessage(bytes.NewReader(raw))
	if err != nil {
		return l, nil, err
	}
	to, err := msg.Header.AddressList("To")
	if err != nil {
		return l, nil, err
	}
	l.ToName, l.To = to[0].Name, to[0].Address
	if l.Subject, err = new(mime.WordDecoder).DecodeHeader(msg.Header.Get("Subject")); err != nil {
		return l, nil, err
	}
	return l, msg, l.readBody(msg.Header.Get("Content-Type"), msg.Header.Get("Content-Transfer-Encoding"), msg.Body)
}

func (l *letter) readBody(contentType, encoding string, body io.Reader) error {
	kind, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		return err
	}
	if kind == "multipart/alternative" {
		return l.readParts(multipart.NewReader(body, params["boundary"]))
	}
	if encoding == "quoted-printable" {
		body = quotedprintable.NewReader(body)
	}
	text, err := io.ReadAll(body)
	switch kind {
	case "text/plain":
		l.Text = string(text)
	case "text/html":
		l.HTML = string(text)
	}
	return err
}

func (l *letter) readParts(parts *multipart.Reader) error {
	for {
		p, err := parts.NextRawPart()
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = l.readBody(p.Header.Get("Content-Type"), p.Header.Get("Content-Transfer-Encoding"), p)
		}
		if err != nil {
			return err
		}
	}
}

// sane says what is wrong with the lines of a mail; empty means nothing is.
func sane(raw []byte) string {
	text := string(raw)
	head, _, found := strings.Cut(text, "\r\n\r\n")
	if !found {
		return "no empty line after the headers"
	}
	if bare := strings.ReplaceAll(text, "\r\n", ""); strings.ContainsAny(bare, "\r\n\x00") {
		return "a bare CR or LF, or a NUL"
	}
	for line := range strings.SplitSeq(text, "\r\n") {
		if len(line) > 998 {
			return "a line of more than 998 bytes"
		}
	}
	for line := range strings.SplitSeq(head, "\r\n") {
		if strings.TrimSpace(line) == "" {
			return "a blank line among the headers"
		}
	}
	return ""
}
