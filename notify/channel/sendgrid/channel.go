package sendgrid

import (
	"cmp"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel/internal/rest"
)

var (
	_ notify.Channel = (*Channel)(nil)
	_ notify.Bounded = (*Channel)(nil)
)

// Channel sends mails through SendGrid. It is safe for several goroutines. Close
// it when nothing sends any more.
type Channel struct {
	key, url      string
	from, replyTo *party
	client        *rest.Client
}

// New returns a channel that calls with the API key, which needs the scope
// "mail.send" only. It does not connect yet. An error lists every setting that
// cannot be used, and never holds the key.
func New(apiKey string, opts *Options) (*Channel, error) {
	o := *cmp.Or(opts, new(Options))
	o = o.withDefaults()
	var f rest.Faults
	f.Secret("apiKey", apiKey)
	c := &Channel{key: o.Key, from: address(&f, "From", o.From), url: f.BaseURL("BaseURL", o.BaseURL) + "/v3/mail/send"}
	if o.ReplyTo != "" {
		c.replyTo = address(&f, "ReplyTo", o.ReplyTo)
	}
	ro := o.client(apiKey)
	ro.Check(&f)
	if err := f.Err("sendgrid"); err != nil {
		return nil, err
	}
	c.client = rest.NewClient(ro)
	return c, nil
}

// Key returns "email:sendgrid", or what Options.Key says.
func (c *Channel) Key() string { return c.key }

// MaxCalls is Options.MaxConns.
func (c *Channel) MaxCalls() int { return c.client.MaxCalls() }

// Close ends the idle connections. A Send at work finishes.
func (c *Channel) Close() error {
	c.client.Close()
	return nil
}
