package smtp

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/notify"
)

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
	if err.Class != notify.ClassTransient || err.Code != "STARTTLS" || !errors.Is(err, errNoStartTLS) {
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
			if err.Class != notify.ClassTransient || err.Code != c.code || !errors.As(err, &untrusted) {
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
	if err.Class != notify.ClassTransient || err.Code != "TLS" {
		t.Error(err)
	}
}
