package webhook

import (
	"errors"
	"net/url"
	"strings"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel/internal/rest"
)

// maxURL is longer than the address of any receiver.
const maxURL = 2000

// check refuses what cannot be sent, without a connection.
func (c *Channel) check(m notify.Message) error {
	switch {
	case rest.MessageID(m.ID) == "":
		return permanent("id", "message id is not 1 to 64 of a-z, 0-9, - and _")
	case !c.callable(m.To):
		return permanent("address", "recipient is no address of the form https://host/path")
	case m.On.IsZero():
		return permanent("date", "message without On, the time that is signed")
	case len(m.Attachments) > 0:
		return permanent("attachments", "a message with attachments cannot be sent")
	}
	return nil
}

// callable accepts https, and http to a trusted host. A user in the URL is
// refused, since it makes one host look like another.
func (c *Channel) callable(text string) bool {
	u, err := url.Parse(text)
	switch {
	case err != nil, len(text) > maxURL, u.Hostname() == "", u.Opaque != "", u.User != nil, u.Fragment != "",
		strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' || r == '\\' }):
		return false
	}
	return u.Scheme == "https" || u.Scheme == "http" && c.dialer.Trusts(u.Hostname())
}

func permanent(code, why string) error {
	return notify.Permanent(code, errors.New("webhook: "+why))
}
