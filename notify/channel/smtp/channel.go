package smtp

import (
	"errors"
	"fmt"
	"time"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel/internal/mail"
)

var (
	_ notify.Channel = (*Channel)(nil)
	_ notify.Bounded = (*Channel)(nil)
)

// Channel sends mails through one SMTP server. It is safe for several
// goroutines. Close it when nothing sends any more.
type Channel struct {
	key     string
	sender  mail.Sender
	dialer  dialer
	timeout time.Duration
	turns   chan struct{} // holds one value for each Send at work
	idle    pool
}

// New returns a channel to the server at addr: a host name or an IP address,
// with or without a port. It does not connect yet. An error says which setting
// cannot be used, and never holds the password.
func New(addr string, opts *Options) (*Channel, error) {
	if opts == nil {
		return nil, errors.New("smtp: Options.From is required")
	}
	o := opts.withDefaults()
	sender, err := mail.NewSender(o.From, o.ReplyTo)
	if err != nil {
		return nil, fmt.Errorf("smtp: %w", err)
	}
	d, err := newDialer(addr, o)
	if err != nil {
		return nil, err
	}
	if o.Timeout < 0 || o.MaxConns < 0 || o.IdleTimeout < 0 {
		return nil, errors.New("smtp: Timeout, MaxConns and IdleTimeout cannot be negative")
	}
	c := &Channel{key: o.Key, sender: sender, dialer: d, timeout: o.Timeout, turns: make(chan struct{}, o.MaxConns)}
	c.idle.timeout = o.IdleTimeout
	return c, nil
}

// Key returns "email:smtp", or what Options.Key says.
func (c *Channel) Key() string { return c.key }

// MaxCalls is Options.MaxConns.
func (c *Channel) MaxCalls() int { return cap(c.turns) }

// Close ends the idle connections. A Send at work finishes; later ones are
// refused as Transient.
func (c *Channel) Close() error {
	c.idle.close()
	return nil
}
