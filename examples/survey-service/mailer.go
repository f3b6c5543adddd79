package main

import (
	"context"
	"path/filepath"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel/file"
)

const mailFolder = "mail"

// mailer writes each link as an .eml file, and prints where, since nobody will get
// that mail. It can be asked about its mails, as the channel in it can.
type mailer struct {
	*file.Channel
	dir  string
	tell say
}

// Send writes and prints.
func (m mailer) Send(ctx context.Context, message notify.Message) (notify.Receipt, error) {
	receipt, err := m.Channel.Send(ctx, message)
	if err == nil {
		m.tell("mail to %s: %s\n  %s", message.To, message.Subject, filepath.Join(m.dir, receipt.ID))
	}
	return receipt, err
}
