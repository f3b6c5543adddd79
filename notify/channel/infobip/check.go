package infobip

import (
	"errors"
	"slices"
	"strings"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel/internal/rest"
)

// check refuses what Infobip would refuse too, without asking it.
func (c *Channel) check(m notify.Message) error {
	t := m.Template
	switch {
	case rest.MessageID(m.ID) == "":
		return permanent("id", "message id is not 1 to 64 of a-z, 0-9, - and _")
	case !e164.MatchString(m.To):
		return permanent("address", "recipient is no number in E.164 form")
	case len(m.Attachments) > 0:
		return permanent("attachments", "a message with attachments cannot be sent")
	case m.Text == "" && (t.Name == "" || !c.medium.template):
		return permanent("empty", "message without text and template")
	case c.medium.template && strings.Trim(t.Name, "abcdefghijklmnopqrstuvwxyz0123456789_") != "":
		return permanent("template", "template's name is not of a-z, 0-9 and _")
	case c.medium.template && slices.Contains(t.Params, ""):
		return permanent("template", "a parameter of the template is empty")
	case c.medium.template && t.Name != "" && !language.MatchString(c.languageOf(m)):
		return permanent("language", "Locale is no language of a template, such as en or en_GB")
	}
	return nil
}

func permanent(code, why string) error {
	return notify.Permanent(code, errors.New("infobip: "+why))
}

// languageOf is how WhatsApp writes the message's locale.
func (c *Channel) languageOf(m notify.Message) string {
	if m.Locale == "" {
		return c.language
	}
	return strings.ReplaceAll(m.Locale, "-", "_")
}

// number is one in the international form without its plus, as Infobip writes it.
func number(n string) string { return strings.TrimPrefix(n, "+") }
