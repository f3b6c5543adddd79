package mail_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/notify/channel/internal/mail"
)

func TestMailIsWhatTheMessageSays(t *testing.T) {
	t.Parallel()
	m := message()
	m.Name, m.Subject = "Zoë \"Zo\" Ó Briain, 李", "Prüfung für 李小龙 läuft ab – ✓"
	m.Text, m.HTML = "Grüße.\nZeile zwei\n.\n..\n", "<p>Grüße</p>\n"
	s, err := mail.NewSender("Schöne Schule <office@school.example>", "Büro <answers@school.example>")
	if err != nil {
		t.Fatal(err)
	}
	built, err := s.Build(m)
	if err != nil {
		t.Fatal(err)
	}
	got, parsed, err := read(built.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	want := letter{Subject: m.Subject, ToName: m.Name, To: m.To,
		Text: strings.ReplaceAll(m.Text, "\n", "\r\n"), HTML: strings.ReplaceAll(m.HTML, "\n", "\r\n")}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	headers := []string{"Auto-Submitted", "Content-Type", "Date", "From", "Message-Id", "Mime-Version", "Reply-To", "Subject", "To"}
	if diff := cmp.Diff(headers, slices.Sorted(maps.Keys(parsed.Header))); diff != "" {
		t.Error(diff)
	}
	if why := sane(built.Bytes); why != "" {
		t.Error(why)
	}
	if from, err := parsed.Header.AddressList("From"); err != nil || from[0].Name != "Schöne Schule" {
		t.Errorf("From: %v, %v", from, err)
	}
	if reply, err := parsed.Header.AddressList("Reply-To"); err != nil || reply[0].Address != "answers@school.example" {
		t.Errorf("Reply-To: %v, %v", reply, err)
	}
}

func TestDateAndMessageIDComeFromTheMessage(t *testing.T) {
	t.Parallel()
	built := build(t, message())
	_, parsed, err := read(built.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	if got := parsed.Header.Get("Date"); got != "Sun, 01 Mar 2026 07:30:00 +0000" {
		t.Errorf("Date: %s", got)
	}
	want := mail.Mail{ID: "0123456789abcdef0123456789abcdef@school.example", From: "<office@school.example>",
		To: "<sam@example.com>", Bytes: built.Bytes}
	if diff := cmp.Diff(want, *built); diff != "" {
		t.Error(diff)
	}
	if got := parsed.Header.Get("Message-Id"); got != "<"+want.ID+">" {
		t.Errorf("Message-ID: %s", got)
	}
}

func TestEqualMessagesGiveEqualBytes(t *testing.T) {
	t.Parallel()
	m := message()
	m.HTML = "<p>It expires soon.</p>"
	if diff := cmp.Diff(build(t, m), build(t, m)); diff != "" {
		t.Error(diff)
	}
}

func TestPartsMayBeMissing(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]letter{
		"only text":    {Subject: "Hello", Text: "text"},
		"only HTML":    {Subject: "Hello", HTML: "<b>text</b>"},
		"only subject": {Subject: "Hello"},
		"no subject":   {Text: "text"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := message()
			m.Name, m.Subject, m.Text, m.HTML = "", want.Subject, want.Text, want.HTML
			got, _, err := read(build(t, m).Bytes)
			want.To = m.To
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Error(err, diff)
			}
		})
	}
}

func TestAddressOutsideASCIINeedsSMTPUTF8(t *testing.T) {
	t.Parallel()
	m := message()
	m.To = "jörg@exämple.com"
	built := build(t, m)
	if !built.UTF8 || built.To != "<jörg@xn--exmple-cua.com>" {
		t.Errorf("got %v %s", built.UTF8, built.To)
	}
	m.To = "sam@bücher.example" // every server takes its domain
	if built = build(t, m); built.UTF8 || built.To != "<sam@xn--bcher-kva.example>" {
		t.Errorf("got %v %s", built.UTF8, built.To)
	}
}
