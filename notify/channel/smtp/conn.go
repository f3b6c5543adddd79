package smtp

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	gosmtp "github.com/wneessen/go-mail/smtp"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/channel/internal/mail"
)

// pool keeps the idle connections. There are never more of them than turns: a
// connection is made only while none is idle.
type pool struct {
	timeout time.Duration

	mu     sync.Mutex
	conns  []*conn // the one used last is at the end
	closed bool
}

// take returns the connection used last, or nil.
func (p *pool) take() *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.conns)
	if n == 0 {
		return nil
	}
	c := p.conns[n-1]
	p.conns = p.conns[:n-1]
	c.expiry.Stop()
	return c
}

func (p *pool) put(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		c.leave()
		return
	}
	c.expiry = time.AfterFunc(p.timeout, func() { p.expire(c) })
	p.conns = append(p.conns, c)
}

// expire ends c unless a call has just taken it.
func (p *pool) expire(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, idle := range p.conns {
		if idle == c {
			p.conns = append(p.conns[:i], p.conns[i+1:]...)
			c.leave()
			return
		}
	}
}

func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, c := range p.conns {
		c.expiry.Stop()
		c.leave()
	}
	p.conns = nil
}

func (p *pool) isClosed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed
}

var errNoUTF8 = errors.New("smtp: server does not take addresses that are not ASCII")

// conn is one connection, used by one goroutine at a time.
type conn struct {
	raw    net.Conn
	client *gosmtp.Client
	unbind func() bool // ends what bind began; false if the context ended first
	begun  bool        // the server holds half a message
	expiry *time.Timer // while it is idle
}

// bind makes every read and write fail once ctx ends, until unbind.
func (c *conn) bind(ctx context.Context) {
	longAgo := time.Unix(1, 0)
	c.unbind = context.AfterFunc(ctx, func() { _ = c.raw.SetDeadline(longAgo) })
}

// mail names the sender, with SMTPUTF8 only where the recipient needs it: a
// message declared as such is refused by relays that do not know it.
func (c *conn) mail(m *mail.Mail) error {
	if c.begun && c.client.Reset() != nil {
		return failure("RSET", nil)
	}
	if known, _ := c.client.Extension("SMTPUTF8"); m.UTF8 && !known {
		return channel.Permanent("smtputf8", errNoUTF8).Blame(channel.FaultAddress)
	}
	c.client.SkipSMTPUTF8(!m.UTF8)
	if err := c.client.Mail(m.From); err != nil {
		return failure("MAIL", err)
	}
	return nil
}

// deliver names the recipient and hands over the content. The final dot is
// sent only while the context lives, since from there on the outcome is the
// server's.
//
// A copy that the server does not take is counted, and the message goes without it.
func (c *conn) deliver(ctx context.Context, m *mail.Mail) (refused int, err error) {
	if err := c.client.Rcpt(m.To); err != nil {
		return 0, failure("RCPT", err)
	}
	for _, to := range m.Copies {
		if err := c.client.Rcpt(to); err != nil {
			if err := failure("RCPT", err); hangsUp(err) {
				return 0, err
			}
			refused++
		}
	}
	return refused, c.content(ctx, m)
}

func (c *conn) content(ctx context.Context, m *mail.Mail) error {
	w, err := c.client.Data()
	if err != nil {
		return failure("DATA", err)
	}
	if _, err := w.Write(m.Bytes); err != nil {
		return failure("content", err)
	}
	if err := ctx.Err(); err != nil {
		return failure("content", err)
	}
	return finalDot(w.Close())
}

// reusable tells whether the connection may carry another message after one
// that ended with err. One on which something unasked has arrived would answer
// the wrong question next time.
func (c *conn) reusable(err error) bool {
	c.begun = err != nil
	return !hangsUp(err) && c.client.Text.R.Buffered() == 0 && c.unbind()
}

// leave says goodbye to the server, without waiting for its answer.
func (c *conn) leave() {
	_, _ = c.client.Text.Cmd("QUIT") // a courtesy
	c.close()
}

func (c *conn) close() {
	c.unbind()
	_ = c.raw.Close() // nothing that matters is on its way
}

var errNoStartTLS = errors.New("smtp: server does not offer STARTTLS, and Options.TLS demands it")

// dialer makes connections that are ready for a message.
type dialer struct {
	addr, host, helo string
	policy           TLS
	config           *tls.Config
	login            login
}

func newDialer(addr string, o Options) (dialer, error) {
	if o.TLS < StartTLS || o.TLS > NoTLS {
		return dialer{}, fmt.Errorf("smtp: unknown TLS policy %d", o.TLS)
	}
	host, port, err := splitAddress(addr, o.TLS.port())
	if err != nil {
		return dialer{}, err
	}
	if strings.ContainsAny(o.Helo, " \t\r\n\x00") {
		return dialer{}, fmt.Errorf("smtp: Helo %q is not a host name", o.Helo)
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if o.TLSConfig != nil {
		config = o.TLSConfig.Clone()
	}
	config.ServerName = cmp.Or(config.ServerName, host)
	return dialer{addr: net.JoinHostPort(host, port), host: host, helo: o.Helo, policy: o.TLS,
		config: config, login: newLogin(o.Username, o.Password, host)}, nil
}

// dial connects, greets, encrypts and logs in. The steps are taken here and not
// by go-mail's own client, which leaves the connection open when one of them
// fails, and does not end with a context that is cancelled.
func (d *dialer) dial(ctx context.Context) (*conn, error) {
	var nd net.Dialer
	raw, err := nd.DialContext(ctx, "tcp", d.addr)
	if err != nil {
		return nil, failure("dial", err)
	}
	cn := &conn{raw: raw}
	cn.bind(ctx)
	if cn.client, err = d.open(raw); err != nil {
		cn.close()
		return nil, err
	}
	return cn, nil
}

func (d *dialer) open(transport net.Conn) (*gosmtp.Client, error) {
	if d.policy == ImplicitTLS {
		encrypted := tls.Client(transport, d.config)
		if err := encrypted.Handshake(); err != nil {
			return nil, failure("TLS", err)
		}
		transport = encrypted
	}
	client, err := gosmtp.NewClient(transport, d.host)
	if err != nil {
		return nil, failure("greeting", err)
	}
	if err := client.Hello(d.helo); err != nil {
		return nil, failure("EHLO", err)
	}
	if d.policy == StartTLS {
		if err := startTLS(client, d.config); err != nil {
			return nil, failure("STARTTLS", err)
		}
	}
	if err := d.login.run(client); err != nil {
		return nil, failure("AUTH", err)
	}
	return client, nil
}

func startTLS(client *gosmtp.Client, config *tls.Config) error {
	if offered, _ := client.Extension("STARTTLS"); !offered {
		return errNoStartTLS
	}
	return client.StartTLS(config)
}

var errNoMechanism = errors.New("smtp: server offers no safe login for this connection")

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
