package smtp

import (
	"fmt"
	"strings"
	"testing"

	gosmtp "github.com/wneessen/go-mail/smtp"

	"github.com/belfry-go/belfry/notify"
)

func TestLoginIsTheSafestThatIsOffered(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		host      string
		encrypted bool
		offered   string
		want      string
	}{
		"SCRAM before others":         {"mail.example", true, "LOGIN PLAIN CRAM-MD5 SCRAM-SHA-256", "SCRAM-SHA-256"},
		"PLAIN when encrypted":        {"mail.example", true, "LOGIN CRAM-MD5 PLAIN", "PLAIN"},
		"LOGIN when encrypted":        {"mail.example", true, "LOGIN", "LOGIN"},
		"no PLAIN in plain text":      {"mail.example", false, "LOGIN PLAIN", ""},
		"CRAM-MD5 in plain text":      {"mail.example", false, "LOGIN PLAIN CRAM-MD5", "CRAM-MD5"},
		"PLAIN to this very machine":  {"127.0.0.1", false, "PLAIN", "PLAIN"},
		"nothing that anybody knows":  {"mail.example", true, "GSSAPI", ""},
		"nothing offered by a server": {"mail.example", true, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			auth := newLogin("school", "secret", c.host)(strings.Fields(c.offered), c.encrypted)
			got := ""
			if auth != nil {
				var err error
				if got, _, err = auth.Start(&gosmtp.ServerInfo{Name: c.host, TLS: c.encrypted}); err != nil {
					t.Fatal(err)
				}
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestRefusedLoginIsNotTheMessagesFault(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{"535 5.7.8 wrong password", "454 4.7.0 later"} {
		s := serve(t, &server{offers: []string{"AUTH PLAIN"}, script: at("AUTH", answer)})
		err := refuse(t.Context(), t, open(t, s.addr, &Options{TLS: NoTLS, Username: "school", Password: "secret"}), message())
		if err.Class != notify.ClassTransient || err.Code != answer[:9] {
			t.Errorf("%s: %v", answer, err)
		}
		if s.seen("MAIL") != 0 {
			t.Error("the message was offered")
		}
	}
}

// The server quotes all it knows, as servers do.
func TestI29_ErrorsHoldNoAddressAndNoPassword(t *testing.T) {
	t.Parallel()
	const secrets = "canary@example.com canary-password Y2FuYXJ5 canary"
	for _, step := range []string{"CONNECT", "EHLO", "AUTH", "MAIL", "RCPT", "DATA", "."} {
		for _, answer := range []string{"450 4.0.0 " + secrets, "550 5.0.0 " + secrets, "334 " + secrets, secrets} {
			t.Run(step+" "+answer[:3], func(t *testing.T) {
				t.Parallel()
				s := serve(t, &server{offers: []string{"AUTH PLAIN"}, script: func(_ int, s string) string {
					if s == step || step == "EHLO" && s == "HELO" {
						return answer
					}
					return ""
				}})
				c := open(t, s.addr, &Options{TLS: NoTLS, Username: "canary", Password: "canary-password"})
				m := message()
				m.To, m.Name, m.Subject, m.Text = "canary@example.com", "canary", "canary", "canary"
				_, err := c.Send(t.Context(), m)
				if err == nil {
					t.Fatal("accepted")
				}
				for _, text := range []string{err.Error(), fmt.Sprintf("%+v", err), fmt.Sprintf("%#v", err), fmt.Sprintf("%+v %#v", c, c)} {
					if strings.Contains(text, "canary") || strings.Contains(text, "Y2FuYXJ5") {
						t.Errorf("%s", text)
					}
				}
			})
		}
	}
}
