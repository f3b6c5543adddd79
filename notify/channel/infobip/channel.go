package infobip

import (
	"cmp"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel/internal/rest"
)

var (
	_ notify.Channel      = (*Channel)(nil)
	_ notify.StatusLookup = (*Channel)(nil)
	_ notify.Bounded      = (*Channel)(nil)
)

// Channel sends messages through Infobip. It is safe for several goroutines.
// Close it when nothing sends any more.
type Channel struct {
	key, from, language string
	url                 string // of the API
	medium              medium
	client              *rest.Client
}

// medium is in what SMS and WhatsApp differ.
type medium struct {
	request  func(c *Channel, m notify.Message) (path string, body any)
	logs     string // the path of the logs
	template bool   // it knows templates
}

var (
	smsMedium      = medium{request: smsRequest, logs: "/sms/3/logs"}
	whatsAppMedium = medium{request: whatsAppRequest, logs: "/whatsapp/2/logs", template: true}
)

// NewSMS returns a channel for text messages. baseURL is the account's own
// address, such as "https://xxxxx.api.infobip.com". It does not connect yet. An
// error lists every setting that cannot be used, and never holds the key.
func NewSMS(baseURL, apiKey string, opts *Options) (*Channel, error) {
	return open("sms", smsMedium, baseURL, apiKey, opts)
}

// NewWhatsApp returns a channel for WhatsApp messages; see NewSMS.
func NewWhatsApp(baseURL, apiKey string, opts *Options) (*Channel, error) {
	return open("whatsapp", whatsAppMedium, baseURL, apiKey, opts)
}

func open(method string, md medium, baseURL, apiKey string, opts *Options) (*Channel, error) {
	o := cmp.Or(opts, new(Options)).withDefaults(method)
	var f rest.Faults
	base := f.BaseURL("baseURL", baseURL)
	f.Secret("apiKey", apiKey)
	o.check(&f, method)
	ro := o.client(apiKey)
	ro.Check(&f)
	if err := f.Err("infobip"); err != nil {
		return nil, err
	}
	return &Channel{key: o.Key, from: o.From, language: o.Language, url: base, medium: md, client: rest.NewClient(ro)}, nil
}

// Key returns "sms:infobip" or "whatsapp:infobip", or what Options.Key says.
func (c *Channel) Key() string { return c.key }

// MaxCalls is Options.MaxConns.
func (c *Channel) MaxCalls() int { return c.client.MaxCalls() }

// Close ends the idle connections. A call at work finishes.
func (c *Channel) Close() error {
	c.client.Close()
	return nil
}
