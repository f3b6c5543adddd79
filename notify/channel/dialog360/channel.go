package dialog360

import (
	"cmp"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel/internal/rest"
)

var (
	_ notify.Channel = (*Channel)(nil)
	_ notify.Bounded = (*Channel)(nil)
)

// Channel sends WhatsApp messages through 360dialog. It is safe for several
// goroutines. Close it when nothing sends any more.
type Channel struct {
	key, url, language string
	client             *rest.Client
}

// New returns a channel that calls with the API key of a number. It does not
// connect yet. An error lists every setting that cannot be used, and never holds
// the key.
func New(apiKey string, opts *Options) (*Channel, error) {
	o := cmp.Or(opts, new(Options)).withDefaults()
	var f rest.Faults
	f.Secret("apiKey", apiKey)
	f.Add(!language.MatchString(o.Language), "Language is none such as en or pt_BR")
	base := f.BaseURL("BaseURL", o.BaseURL)
	ro := o.client(apiKey)
	ro.Check(&f)
	if err := f.Err("dialog360"); err != nil {
		return nil, err
	}
	return &Channel{key: o.Key, url: base + "/messages", language: o.Language, client: rest.NewClient(ro)}, nil
}

// Key returns "whatsapp:dialog360", or what Options.Key says.
func (c *Channel) Key() string { return c.key }

// MaxCalls is Options.MaxConns.
func (c *Channel) MaxCalls() int { return c.client.MaxCalls() }

// Close ends the idle connections. A Send at work finishes.
func (c *Channel) Close() error {
	c.client.Close()
	return nil
}
