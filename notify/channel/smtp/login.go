package smtp

import (
	"errors"
	"slices"
	"strings"

	gosmtp "github.com/wneessen/go-mail/smtp"
)

var errNoMechanism = errors.New("smtp: server offers no way to log in that is safe on this connection")

// login chooses the way to log in out of those that a server offers, and gives
// nil where none will do. It is a function so that no printed Channel shows the
// password. A nil login does not log in.
type login func(offered []string, encrypted bool) gosmtp.Auth

func newLogin(username, password, host string) login {
	if username == "" {
		return nil
	}
	here := slices.Contains([]string{"localhost", "127.0.0.1", "::1"}, host)
	return func(offered []string, encrypted bool) gosmtp.Auth {
		private := encrypted || here // the password may be shown to the server
		switch {
		case slices.Contains(offered, "SCRAM-SHA-256"):
			return gosmtp.ScramSHA256Auth(username, password)
		case private && slices.Contains(offered, "PLAIN"):
			return gosmtp.PlainAuth("", username, password, host, false)
		case private && slices.Contains(offered, "LOGIN"):
			return gosmtp.LoginAuth(username, password, host, false)
		case slices.Contains(offered, "CRAM-MD5"):
			return gosmtp.CRAMMD5Auth(username, password)
		}
		return nil
	}
}

func (l login) run(client *gosmtp.Client) error {
	if l == nil {
		return nil
	}
	_, offered := client.Extension("AUTH")
	_, encrypted := client.TLSConnectionState()
	auth := l(strings.Fields(offered), encrypted)
	if auth == nil {
		return errNoMechanism
	}
	return client.Auth(auth)
}
