package dialog360

import (
	"cmp"
	"crypto/tls"
	"net/url"
	"regexp"
	"time"

	"github.com/belfry-go/belfry/notify/channel/internal/rest"
)

// Options are the settings of a Channel; nil means all defaults. The number that
// messages come from belongs to the API key.
type Options struct {
	// Key is the key of the channel; empty means "whatsapp:dialog360".
	Key string
	// Language is that of a template for a message without a Locale; empty means
	// "en".
	Language string
	// BaseURL is the API's address; empty means "https://waba-v2.360dialog.io".
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

// language is one as WhatsApp writes it: "pt_BR".
var language = regexp.MustCompile(`^[a-z]{2,3}(_[A-Z]{2,3})?$`)

func (o Options) withDefaults() Options {
	o.Key = cmp.Or(o.Key, "whatsapp:dialog360")
	o.Language = cmp.Or(o.Language, "en")
	o.BaseURL = cmp.Or(o.BaseURL, "https://waba-v2.360dialog.io")
	return o
}

func (o Options) client(apiKey string) rest.Options {
	return rest.Options{Provider: "dialog360", Authorize: rest.Header("D360-API-KEY", apiKey),
		Timeout: o.Timeout, MaxConns: o.MaxConns, Proxy: o.Proxy, TLS: o.TLSConfig}
}
