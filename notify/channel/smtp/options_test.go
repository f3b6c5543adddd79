package smtp

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	gosmtp "github.com/wneessen/go-mail/smtp"

	"github.com/belfry-go/belfry/notify/channel"
)

func TestNewNamesTheSettingThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	from := "office@school.example"
	for name, c := range map[string]struct {
		addr string
		opts *Options
		want string
	}{
		"no options":        {"mail.example", nil, "Options.From"},
		"no From":           {"mail.example", &Options{}, "From"},
		"From with header":  {"mail.example", &Options{From: from + "\r\nBcc: x@y.z"}, "From"},
		"bad ReplyTo":       {"mail.example", &Options{From: from, ReplyTo: "school"}, "ReplyTo"},
		"no address":        {"", &Options{From: from}, "server"},
		"URL as address":    {"smtp://mail.example", &Options{From: from}, "server"},
		"user in address":   {"school:secret@mail.example", &Options{From: from}, "server"},
		"unknown TLS":       {"mail.example", &Options{From: from, TLS: 7}, "TLS"},
		"bad Helo":          {"mail.example", &Options{From: from, Helo: "a b"}, "Helo"},
		"negative Timeout":  {"mail.example", &Options{From: from, Timeout: -time.Second}, "Timeout"},
		"negative MaxConns": {"mail.example", &Options{From: from, MaxConns: -1}, "MaxConns"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := New(c.addr, c.opts)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v, want an error about %s", err, c.want)
			}
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("the error holds a password: %v", err)
			}
		})
	}
}

func TestPortFollowsTheTLSPolicy(t *testing.T) {
	t.Parallel()
	got := map[string]string{}
	for addr, policy := range map[string]TLS{"a.example": StartTLS, "b.example": ImplicitTLS, "c.example": NoTLS, "d.example:2525": StartTLS, "::1": NoTLS, "e.example:": NoTLS, "[::2]": NoTLS} {
		c, err := New(addr, &Options{From: "office@school.example", TLS: policy})
		if err != nil {
			t.Fatal(err)
		}
		got[addr] = c.dialer.addr
	}
	want := map[string]string{"a.example": "a.example:587", "b.example": "b.example:465", "c.example": "c.example:25",
		"d.example:2525": "d.example:2525", "::1": "[::1]:25", "e.example:": "e.example:25", "[::2]": "[::2]:25"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestKeyMayBeChosen(t *testing.T) {
	t.Parallel()
	if got := open(t, "mail.example", nil).Key(); got != "email:smtp" {
		t.Error(got)
	}
	if got := open(t, "mail.example", &Options{Key: "email:backup"}).Key(); got != "email:backup" {
		t.Error(got)
	}
}

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
		if err.Class != channel.ClassTransient || err.Code != answer[:9] {
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

func TestStartTLSEncryptsBeforeItLogsIn(t *testing.T) {
	t.Parallel()
	cert, roots := certificate(t)
	s := serve(t, &server{secure: &tls.Config{Certificates: []tls.Certificate{cert}}, offers: []string{"AUTH PLAIN LOGIN"}})
	c := open(t, s.addr, &Options{TLSConfig: &tls.Config{RootCAs: roots}, Helo: "app.example", Username: "school", Password: "secret"})
	send(t, c, message())
	want := []string{"EHLO app.example", "STARTTLS", "EHLO app.example", "AUTH PLAIN AHNjaG9vbABzZWNyZXQ=",
		"MAIL FROM:<office@school.example>", "RCPT TO:<sam@example.com>", "DATA"}
	s.mu.Lock()
	defer s.mu.Unlock()
	if diff := cmp.Diff(want, s.commands); diff != "" {
		t.Error(diff)
	}
}

func TestStartTLSSendsNothingInPlainText(t *testing.T) {
	t.Parallel()
	s := serve(t, &server{offers: []string{"AUTH PLAIN"}})
	c := open(t, s.addr, &Options{Username: "school", Password: "secret"})
	err := refuse(t.Context(), t, c, message())
	if err.Class != channel.ClassTransient || err.Code != "STARTTLS" || !errors.Is(err, errNoStartTLS) {
		t.Error(err)
	}
	if s.seen("AUTH")+s.seen("MAIL") != 0 {
		t.Error("the server was told something")
	}
}

func TestServerThatIsNotTrustedGetsNothing(t *testing.T) {
	t.Parallel()
	cert, _ := certificate(t)
	for name, c := range map[string]struct {
		implicit bool
		policy   TLS
		code     string
	}{"upgraded": {false, StartTLS, "STARTTLS"}, "from the start": {true, ImplicitTLS, "TLS"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, &server{secure: &tls.Config{Certificates: []tls.Certificate{cert}}, implicit: c.implicit})
			ch := open(t, s.addr, &Options{TLS: c.policy, TLSConfig: &tls.Config{RootCAs: x509.NewCertPool()}})
			err := refuse(t.Context(), t, ch, message())
			var untrusted *tls.CertificateVerificationError
			if err.Class != channel.ClassTransient || err.Code != c.code || !errors.As(err, &untrusted) {
				t.Error(err)
			}
			if s.seen("MAIL") != 0 {
				t.Error("the server got the sender")
			}
		})
	}
}

func TestImplicitTLSEncryptsFromTheStart(t *testing.T) {
	t.Parallel()
	cert, roots := certificate(t)
	s := serve(t, &server{secure: &tls.Config{Certificates: []tls.Certificate{cert}}, implicit: true})
	c := open(t, s.addr, &Options{TLS: ImplicitTLS, TLSConfig: &tls.Config{RootCAs: roots}})
	send(t, c, message())
	send(t, c, message())
	wantConnections(t, s, 1)
}

func TestPlainServerOnATLSPortIsTransient(t *testing.T) {
	t.Parallel()
	s := serve(t, &server{})
	err := refuse(t.Context(), t, open(t, s.addr, &Options{TLS: ImplicitTLS}), message())
	if err.Class != channel.ClassTransient || err.Code != "TLS" {
		t.Error(err)
	}
}
