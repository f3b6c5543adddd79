package infobip

import (
	"cmp"
	"crypto/tls"
	"net/url"
	"regexp"
	"time"

	"github.com/belfry-go/belfry/notify/channel/internal/rest"
)

// Options are the settings of a Channel. From is required.
type Options struct {
	// Key is the key of the channel; empty means "sms:infobip" or
	// "whatsapp:infobip".
	Key string
	// From is the sender: a number in E.164 form, or for SMS a short code or an
	// alphanumeric sender id.
	From string
	// Language is that of a WhatsApp template for a message without a Locale;
	// empty means "en".
	Language string
	// Timeout bounds one Send or Lookup, in real time; zero means 30 seconds.
	Timeout time.Duration
	// MaxConns bounds the connections, and so the calls at work; others wait for
	// their turn within their Timeout. Zero means 10.
	MaxConns int
	// Proxy is an HTTP proxy; nil means none, whatever the environment says.
	Proxy *url.URL
	// TLSConfig is cloned; nil means the system's roots and TLS 1.2 or later.
	TLSConfig *tls.Config
}

var (
	e164     = regexp.MustCompile(`^\+[1-9][0-9]{4,14}$`)
	sender   = regexp.MustCompile(`^[A-Za-z0-9 ._&-]{1,16}$`) // for SMS
	language = regexp.MustCompile(`^[a-z]{2,3}([_-][A-Za-z]{2,4})?$`)
)

func (o Options) withDefaults(method string) Options {
	o.Key = cmp.Or(o.Key, method+":infobip")
	o.Language = cmp.Or(o.Language, "en")
	return o
}

// check notes what is wrong with o, for a channel of that method.
func (o Options) check(f *rest.Faults, method string) {
	number := e164.MatchString(o.From)
	switch {
	case o.From == "":
		f.Add(true, "From is required")
	case method == "whatsapp":
		f.Add(!number, "From is no number in E.164 form, such as +447860099299")
	default:
		f.Add(!number && !sender.MatchString(o.From), "From is no number in E.164 form, short code or sender id")
	}
	f.Add(!language.MatchString(o.Language), "Language is none such as en or en_GB")
}

func (o Options) client(apiKey string) rest.Options {
	return rest.Options{Provider: "infobip", Authorize: rest.Header("Authorization", "App "+apiKey),
		Timeout: o.Timeout, MaxConns: o.MaxConns, Proxy: o.Proxy, TLS: o.TLSConfig}
}
