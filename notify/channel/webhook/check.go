package webhook

import (
	"errors"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel/internal/rest"
)

// check refuses what cannot be sent, without a connection.
func (c *Channel) check(m notify.Message) error {
	switch {
	case rest.MessageID(m.ID) == "":
		return permanent("id", "message id is not 1 to 64 of a-z, 0-9, - and _")
	case !c.dialer.Callable(m.To):
		return permanent("address", "recipient is no address of the form https://host/path")
	case m.On.IsZero():
		return permanent("date", "message without On, the time that is signed")
	case len(m.Attachments) > 0:
		return permanent("attachments", "a message with attachments cannot be sent")
	}
	return nil
}

func permanent(code, why string) error {
	return notify.Permanent(code, errors.New("webhook: "+why))
}
