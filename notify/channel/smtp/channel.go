package smtp

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/channel/internal/mail"
)

// Options are the settings of a Channel. From is required.
type Options struct {
	// Key is the key of the channel; empty means "email:smtp".
	Key string
	// From is the sender, with or without a display name, such as
	// "School <office@example.com>". Its address is the envelope's sender too
	// unless there is a ReturnPath, and its domain that of every Message-ID.
	From string
	// ReplyTo is where answers go, in the same form; empty means to From.
	ReplyTo string
	// ReturnPath has reports of failed deliveries come back to where they are understood;
	// nil: they go to From, and who is not reached is written to again.
	ReturnPath *ReturnPath
	// Username logs in, with the Password; empty: the channel does not log in. The
	// mechanism is the first that the server offers of SCRAM-SHA-256, PLAIN and LOGIN, or
	// CRAM-MD5. Where the connection is not encrypted, PLAIN and LOGIN are used with this
	// very machine only.
	Username string
	// Password is that of the Username.
	Password string
	// TLS is how the connection is encrypted; the zero value is StartTLS.
	TLS TLS
	// TLSConfig is cloned, and gets the ServerName if it has none. Nil means the
	// system's roots and TLS 1.2 or later.
	TLSConfig *tls.Config
	// Helo is the name that the channel gives to the server; empty means the
	// machine's.
	Helo string
	// Timeout bounds one Send from the moment it has its turn, in real time.
	// Zero means a minute.
	Timeout time.Duration
	// MaxConns bounds the connections, and so the Sends at work; others wait
	// for their turn. Zero means 4.
	MaxConns int
	// IdleTimeout is how long an unused connection is kept, in real time. Zero
	// means 30 seconds. Most servers close it themselves after some minutes.
	IdleTimeout time.Duration
}

// TLS says how a connection is encrypted.
type TLS int

// The policies. None falls back to plain text by itself.
const (
	// StartTLS upgrades the connection before anything else is said, and sends
	// nothing to a server that cannot. The port is 587 unless it is given.
	StartTLS TLS = iota
	// ImplicitTLS encrypts from the first byte on; port 465.
	ImplicitTLS
	// NoTLS sends in plain text, which is for a server on the same machine or
	// in the same trusted network; port 25.
	NoTLS
)

// port is what is used where the address has none.
func (t TLS) port() string {
	return map[TLS]string{StartTLS: "587", ImplicitTLS: "465", NoTLS: "25"}[t]
}

func (o Options) withDefaults() Options {
	o.Key = cmp.Or(o.Key, "email:smtp")
	o.Timeout = cmp.Or(o.Timeout, time.Minute)
	o.MaxConns = cmp.Or(o.MaxConns, 4)
	o.IdleTimeout = cmp.Or(o.IdleTimeout, 30*time.Second)
	if o.Helo == "" {
		o.Helo, _ = os.Hostname() // unknown: see next
		o.Helo = cmp.Or(o.Helo, "localhost")
	}
	return o
}

var (
	_ channel.Channel = (*Channel)(nil)
	_ channel.Bounded = (*Channel)(nil)
	_ channel.Webhook = (*Channel)(nil)
)

// Channel sends mails through one SMTP server. It is safe for several
// goroutines. Close it when nothing sends any more.
type Channel struct {
	key     string
	sender  mail.Sender
	returns *returns // nil: to From
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
	var back *returns
	if o.ReturnPath != nil {
		if back, err = newReturns(o.ReturnPath); err != nil {
			return nil, err
		}
	}
	d, err := newDialer(addr, o)
	if err != nil {
		return nil, err
	}
	if o.Timeout < 0 || o.MaxConns < 0 || o.IdleTimeout < 0 {
		return nil, errors.New("smtp: Timeout, MaxConns and IdleTimeout cannot be negative")
	}
	c := &Channel{key: o.Key, sender: sender, returns: back, dialer: d, timeout: o.Timeout, turns: make(chan struct{}, o.MaxConns)}
	c.idle.timeout = o.IdleTimeout
	return c, nil
}

// Key returns "email:smtp", or what Options.Key says.
func (c *Channel) Key() string { return c.key }

// Capabilities are all that mails have.
func (c *Channel) Capabilities() channel.Capabilities {
	return channel.Capabilities{Attachments: true, Mail: true}
}

// MaxCalls is Options.MaxConns.
func (c *Channel) MaxCalls() int { return cap(c.turns) }

// Close ends the idle connections. A Send at work finishes; later ones are
// refused as Transient.
func (c *Channel) Close() error {
	c.idle.close()
	return nil
}

var errClosed = errors.New("smtp: channel is closed")

// Send hands m to the server and returns its Message-ID, without the angle
// brackets, as the receipt. The package documentation says what the classes of
// its errors mean; a content that makes no mail is Permanent.
func (c *Channel) Send(ctx context.Context, m channel.Message) (channel.Receipt, error) {
	built, err := c.sender.Build(m)
	if err != nil {
		return channel.Receipt{}, err
	}
	if path, ok := c.returns.of(m.ID); ok {
		built.From = path
	}
	select {
	case c.turns <- struct{}{}:
		defer func() { <-c.turns }()
	case <-ctx.Done():
		return channel.Receipt{}, channel.Transient("busy", 0, ctx.Err())
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	without, err := c.send(ctx, built)
	var refused *channel.Error
	switch {
	case err == nil:
		return channel.Receipt{ID: built.ID, Refused: without}, nil
	case errors.Is(ctx.Err(), context.Canceled) && errors.As(err, &refused): // by ourselves
		return channel.Receipt{}, refused.Blame("")
	}
	return channel.Receipt{}, err
}

func (c *Channel) send(ctx context.Context, m *mail.Mail) (refused int, err error) {
	if c.idle.isClosed() {
		return 0, channel.Transient("closed", 0, errClosed)
	}
	cn, err := c.begin(ctx, m)
	if cn == nil {
		return 0, err
	}
	if err == nil {
		refused, err = cn.deliver(ctx, m)
	}
	if cn.reusable(err) {
		c.idle.put(cn)
	} else {
		cn.close()
	}
	return refused, err
}

// begin returns a connection that has taken MAIL, or one that has refused it. A
// kept connection that turns out to be dead is not an answer about the message, and
// nothing was handed over, so the next one is tried and a new one at last.
func (c *Channel) begin(ctx context.Context, m *mail.Mail) (*conn, error) {
	for cn := c.idle.take(); cn != nil; cn = c.idle.take() {
		cn.bind(ctx)
		err := cn.mail(m)
		if err == nil || !hangsUp(err) {
			return cn, err
		}
		cn.close()
	}
	cn, err := c.dialer.dial(ctx)
	if err != nil {
		return nil, err
	}
	return cn, cn.mail(m)
}

// errAddress does not quote the address, in which a careless host may have put
// a password.
var errAddress = errors.New("smtp: the address of the server is neither host nor host:port")

// splitAddress reads a host with or without a port.
func splitAddress(addr, defaultPort string) (host, port string, err error) {
	host, port, err = net.SplitHostPort(addr)
	if err != nil { // no port
		host, port = strings.Trim(addr, "[]"), ""
	}
	port = cmp.Or(port, defaultPort)
	number, err := strconv.ParseUint(port, 10, 16)
	switch {
	case err != nil, number == 0,
		host == "", strings.ContainsAny(host, " \t\r\n\x00/@"),
		strings.Contains(host, ":") && net.ParseIP(host) == nil:
		return "", "", errAddress
	}
	return host, port, nil
}
