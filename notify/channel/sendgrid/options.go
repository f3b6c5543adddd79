package sendgrid

import (
	"cmp"
	"crypto/tls"
	"net/mail"
	"net/url"
	"strings"
	"time"

	"github.com/belfry-go/belfry/notify/channel/internal/rest"
)

// Options are the settings of a Channel. From is required.
type Options struct {
	// Key is the key of the channel; empty means "email:sendgrid".
	Key string
	// From is the sender, with or without a display name, such as
	// "School <office@example.com>": a verified sender or domain of the account.
	From string
	// ReplyTo is where answers go, in the same form; empty means to From.
	ReplyTo string
	// BaseURL is the API's address; empty means "https://api.sendgrid.com". For
	// subusers in the EU it is "https://api.eu.sendgrid.com".
	BaseURL string
	// Timeout bounds one Send, in real time; zero means 30 seconds.
	Timeout time.Duration
	// MaxConns bounds the connections, and so the Sends at work; others wait for
	// their turn within their Timeout. Zero means 10.
	MaxConns int
	// Proxy is an HTTP proxy; nil means none, whatever the environment says.
	Proxy *url.URL
	// TLSConfig is cloned; nil means the system's roots and TLS 1.2 or later.
	TLSConfig *tls.Config
}

func (o Options) withDefaults() Options {
	o.Key = cmp.Or(o.Key, "email:sendgrid")
	o.BaseURL = cmp.Or(o.BaseURL, "https://api.sendgrid.com")
	return o
}

func (o Options) client(apiKey string) rest.Options {
	return rest.Options{Provider: "sendgrid", Authorize: rest.Header("Authorization", "Bearer "+apiKey),
		Timeout: o.Timeout, MaxConns: o.MaxConns, Proxy: o.Proxy, TLS: o.TLSConfig}
}

// address reads a mail address with or without a name.
func address(f *rest.Faults, option, text string) *party {
	a, err := mail.ParseAddress(text)
	if err != nil || strings.ContainsAny(text, "\r\n\x00") {
		f.Add(true, option+" is no mail address")
		return nil
	}
	return &party{Email: a.Address, Name: a.Name}
}
