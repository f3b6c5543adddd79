package smtp

import (
	"context"
	"errors"
	"net"
	"time"

	gosmtp "github.com/wneessen/go-mail/smtp"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel/internal/mail"
)

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
		return notify.Transient("RSET", 0, &Error{Step: "RSET"})
	}
	if known, _ := c.client.Extension("SMTPUTF8"); m.UTF8 && !known {
		return notify.Permanent("smtputf8", errNoUTF8)
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
func (c *conn) deliver(ctx context.Context, m *mail.Mail) error {
	if err := c.client.Rcpt(m.To); err != nil {
		return failure("RCPT", err)
	}
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
