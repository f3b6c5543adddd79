package smtp

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"

	gosmtp "github.com/wneessen/go-mail/smtp"
)

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
		return dialer{}, fmt.Errorf("smtp: Helo %q is no host name", o.Helo)
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
