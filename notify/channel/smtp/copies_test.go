package smtp

import (
	netmail "net/mail"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/notify/channel"
)

func copied() channel.Message {
	m := message()
	m.Mail = channel.Mail{
		ReplyTo: "Ann <ann@school.example>", CC: []string{"Jörg Müller <jm@bücher.example>", "kim@example.com"}, BCC: []string{"archive@school.example"},
		InReplyTo: "q1@home.example", References: []string{"booking-7@school.example", "q1@home.example"},
		Headers: map[string]string{"X-Entity-Ref-ID": "7", "Importance": "high"},
	}
	return m
}

// envelope are the recipients that the server heard of.
func (s *server) envelope() (out []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.commands {
		if strings.HasPrefix(c, "RCPT") {
			out = append(out, strings.TrimPrefix(c, "RCPT TO:"))
		}
	}
	return out
}

func TestCopiesAreInTheEnvelopeAndBlindOnesNowhereElse(t *testing.T) {
	t.Parallel()
	s := serve(t, &server{})
	send(t, open(t, s.addr, &Options{TLS: NoTLS, ReplyTo: "office@school.example"}), copied())
	if diff := cmp.Diff([]string{"<sam@example.com>", "<jm@xn--bcher-kva.example>", "<kim@example.com>", "<archive@school.example>"}, s.envelope()); diff != "" {
		t.Error(diff)
	}
	mails := s.accepted()
	m, err := netmail.ReadMessage(strings.NewReader(mails[0]))
	if err != nil || len(mails) != 1 || strings.Contains(mails[0], "archive") {
		t.Fatal(err, mails)
	}
	for name, want := range map[string]string{
		"Reply-To": `"Ann" <ann@school.example>`, "Cc": `=?utf-8?q?J=C3=B6rg_M=C3=BCller?= <jm@xn--bcher-kva.example>, <kim@example.com>`,
		"In-Reply-To": "<q1@home.example>", "References": "<booking-7@school.example> <q1@home.example>",
		"X-Entity-Ref-Id": "7", "Importance": "high", "Bcc": "",
	} {
		if got := m.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// atThird is the script that gives one answer at one step of the only connection, when it
// comes for the third time.
func atThird(step, answer string) script {
	n := 0
	return func(_ int, s string) string {
		if s == step {
			n++
		}
		if s == step && n == 3 {
			return answer
		}
		return ""
	}
}

func TestACopyThatIsRefusedCostsNobodyElseTheMail(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{"550 5.1.1 nobody", "452 4.5.3 too many"} {
		s := serve(t, &server{script: atThird("RCPT", answer)})
		receipt, err := open(t, s.addr, nil).Send(t.Context(), copied())
		if err != nil || receipt.Refused != 1 || len(s.accepted()) != 1 || len(s.envelope()) != 4 {
			t.Errorf("%s: %+v, %v, %v", answer, receipt, err, s.envelope())
		}
	}
	s := serve(t, &server{script: atThird("RCPT", "421 4.3.2 later")})
	if err := refuse(t.Context(), t, open(t, s.addr, nil), copied()); err.Class != channel.ClassTransient || len(s.accepted()) != 0 {
		t.Error(err, s.accepted())
	}
}
