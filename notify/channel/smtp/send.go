package smtp

import (
	"context"
	"errors"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel/internal/mail"
)

var errClosed = errors.New("smtp: channel is closed")

// Send hands m to the server and returns its Message-ID, without the angle
// brackets, as the receipt. The package documentation says what the classes of
// its errors mean; a content that makes no mail is Permanent.
func (c *Channel) Send(ctx context.Context, m notify.Message) (notify.Receipt, error) {
	built, err := c.sender.Build(m)
	if err != nil {
		return notify.Receipt{}, err
	}
	select {
	case c.turns <- struct{}{}:
		defer func() { <-c.turns }()
	case <-ctx.Done():
		return notify.Receipt{}, notify.Transient("busy", 0, ctx.Err())
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	if err := c.send(ctx, built); err != nil {
		return notify.Receipt{}, err
	}
	return notify.Receipt{ID: built.ID}, nil
}

func (c *Channel) send(ctx context.Context, m *mail.Mail) error {
	if c.idle.isClosed() {
		return notify.Transient("closed", 0, errClosed)
	}
	cn, err := c.begin(ctx, m)
	if cn == nil {
		return err
	}
	if err == nil {
		err = cn.deliver(ctx, m)
	}
	if cn.reusable(err) {
		c.idle.put(cn)
	} else {
		cn.close()
	}
	return err
}

// begin returns a connection that has taken MAIL, or one that has refused it. A
// kept connection that turns out to be dead is no answer about the message, and
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
