//go:build linux

package smtp

import (
	"bytes"
	"crypto/tls"
	netmail "net/mail"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/notify/channel"
)

func envelopeTo(t *testing.T, mail []byte) string {
	t.Helper()
	m, err := netmail.ReadMessage(bytes.NewReader(mail))
	if err != nil {
		t.Fatal(err)
	}
	return m.Header.Get("Envelope-To")
}

func TestRealServerDeliversWhatWasSent(t *testing.T) {
	t.Parallel()
	s, roots := startExim(t)
	c := open(t, s.addr, &Options{TLSConfig: &tls.Config{RootCAs: roots}, Username: "school", Password: "secret"})
	texts := map[string]string{
		"dots@example.com": ".\r\n..\r\n.QUIT\r\n",
		"long@example.com": strings.Repeat("long ", 2000) + strings.Repeat("x", 5000) + "\r\n",
		"jörg@example.com": "Grüße, 李小龙 ✓\r\n",
		"last@example.com": "no line break at the end\r\n",
	}
	for to, text := range texts {
		m := message()
		m.To, m.Name, m.Subject, m.Text = to, "Zoë Ó Briain", "Prüfung läuft ab – ✓", text
		send(t, c, m)
	}
	refused := message()
	refused.To = "unknown@example.com"
	if err := refuse(t.Context(), t, c, refused); err.Class != channel.ClassPermanent || err.Code != "550 5.1.1" {
		t.Error(err)
	}
	_ = c.Close()
	s.finish()
	got := map[string]letter{}
	for to, raw := range s.delivered(t) {
		got[to] = read(t, strings.ReplaceAll(raw, "\n", "\r\n"))
	}
	want := map[string]letter{}
	for to, text := range texts {
		want[to] = letter{From: `"School" <office@school.example>`, To: "Zoë Ó Briain <" + to + ">", Subject: "Prüfung läuft ab – ✓",
			MessageID: "<" + id + "@school.example>", Date: "Sun, 01 Mar 2026 08:00:00 +0000", Text: text}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestRealServerDeliversEveryPart(t *testing.T) {
	t.Parallel()
	s, roots := startExim(t)
	c := open(t, s.addr, &Options{TLSConfig: &tls.Config{RootCAs: roots}, Username: "school", Password: "secret"})
	m, want := withParts(1 << 20)
	send(t, c, m)
	_ = c.Close()
	s.finish()
	if diff := cmp.Diff(want, leaves(t, s.delivered(t)[m.To])); diff != "" {
		t.Error(diff)
	}
}
