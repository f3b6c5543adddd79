package sendgrid

import (
	"errors"
	"net/mail"
	"net/url"
	"strings"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel/internal/rest"
)

// check refuses what no mail can be made of. SendGrid would refuse most of it
// too; what ends up in a header is not left to it.
func check(m notify.Message) error {
	switch {
	case rest.MessageID(m.ID) == "":
		return permanent("id", "message id is not 1 to 64 of a-z, 0-9, - and _")
	case !isAddress(m.To):
		return permanent("address", "recipient is no mail address")
	case strings.ContainsAny(m.Subject+m.Name, "\r\n\x00"):
		return permanent("header", "subject or name holds a line break or a NUL")
	case m.Subject == "":
		return permanent("subject", "message without subject, which SendGrid refuses")
	case m.Template.Name != "":
		return permanent("template", "message names a template, which this channel does not use")
	case m.UnsubscribeURL != "" && !isWebAddress(m.UnsubscribeURL):
		return permanent("header", "UnsubscribeURL is not an https address")
	}
	for _, a := range m.Attachments {
		if len(a.Data) == 0 {
			return permanent("attachment", "attachment without data, which SendGrid refuses")
		}
		if strings.ContainsAny(a.Name+a.MediaType+a.ContentID, "\r\n\x00;") {
			return permanent("header", "name or type of an attachment holds a line break, a NUL or a semicolon")
		}
	}
	return nil
}

func permanent(code, why string) error {
	return notify.Permanent(code, errors.New("sendgrid: "+why))
}

// isAddress accepts a bare address and nothing around it.
func isAddress(to string) bool {
	a, err := mail.ParseAddress(to)
	return err == nil && a.Address == to && len(to) <= 254 && !strings.ContainsAny(to, "\r\n\x00")
}

// isWebAddress accepts what may stand between angle brackets in a header.
func isWebAddress(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Scheme == "https" && u.Host != "" && len(text) <= 900 &&
		!strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' || r == '<' || r == '>' || r == ',' })
}
