package twilio

import (
	"cmp"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel/internal/rest"
)

var (
	_ notify.Channel = (*Channel)(nil)
	_ notify.Bounded = (*Channel)(nil)
)

// Channel sends messages through Twilio. It is safe for several goroutines.
// Close it when nothing sends any more.
type Channel struct {
	url      string
	whatsApp bool
	options  Options
	client   *rest.Client
}

// NewSMS returns a channel for text messages of the account ("AC…"), which calls
// with its auth token, or with the secret of Options.APIKeySID. It does not
// connect yet. An error lists every setting that cannot be used, and never holds
// the secret.
func NewSMS(accountSID, secret string, opts *Options) (*Channel, error) {
	return open("sms", accountSID, secret, opts)
}

// NewWhatsApp returns a channel for WhatsApp messages; see NewSMS.
func NewWhatsApp(accountSID, secret string, opts *Options) (*Channel, error) {
	return open("whatsapp", accountSID, secret, opts)
}

func open(method, account, secret string, opts *Options) (*Channel, error) {
	o := *cmp.Or(opts, new(Options))
	o.Key = cmp.Or(o.Key, method+":twilio")
	var f rest.Faults
	f.Add(!accountSID.MatchString(account), "accountSID is not AC and 32 hex digits")
	f.Secret("secret", secret)
	o.check(&f, method)
	base := f.BaseURL("BaseURL", cmp.Or(o.BaseURL, "https://api.twilio.com"))
	ro := o.client(account, secret)
	ro.Check(&f)
	if err := f.Err("twilio"); err != nil {
		return nil, err
	}
	return &Channel{url: base + "/2010-04-01/Accounts/" + account + "/Messages.json",
		whatsApp: method == "whatsapp", options: o, client: rest.NewClient(ro)}, nil
}

// Key returns "sms:twilio" or "whatsapp:twilio", or what Options.Key says.
func (c *Channel) Key() string { return c.options.Key }

// MaxCalls is Options.MaxConns.
func (c *Channel) MaxCalls() int { return c.client.MaxCalls() }

// Close ends the idle connections. A Send at work finishes.
func (c *Channel) Close() error {
	c.client.Close()
	return nil
}
