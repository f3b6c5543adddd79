package dialog360

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel/internal/rest"
)

// maxText is how many characters WhatsApp takes (WhatsApp Business Platform,
// "Text messages").
const maxText = 4096

var e164 = regexp.MustCompile(`^\+[1-9][0-9]{4,14}$`)

// check refuses what WhatsApp would refuse too, without asking it.
func (c *Channel) check(m notify.Message) error {
	t := m.Template
	switch {
	case rest.MessageID(m.ID) == "":
		return permanent("id", "message id is not 1 to 64 of a-z, 0-9, - and _")
	case !e164.MatchString(m.To):
		return permanent("address", "recipient is no number in E.164 form")
	case len(m.Attachments) > 0:
		return permanent("attachments", "a message with attachments cannot be sent")
	case t.Name == "" && m.Text == "":
		return permanent("empty", "message without text and template")
	case t.Name == "" && utf8.RuneCountInString(m.Text) > maxText:
		return permanent("text", "text is longer than 4096 characters")
	case strings.Trim(t.Name, "abcdefghijklmnopqrstuvwxyz0123456789_") != "":
		return permanent("template", "template's name is not of a-z, 0-9 and _")
	case slices.Contains(t.Params, ""):
		return permanent("template", "a parameter of the template is empty")
	case t.Name != "" && !language.MatchString(c.languageOf(m)):
		return permanent("language", "Locale is no language of a template, such as en or pt-BR")
	}
	return nil
}

func permanent(code, why string) error {
	return notify.Permanent(code, errors.New("dialog360: "+why))
}

// languageOf is how WhatsApp writes the message's locale.
func (c *Channel) languageOf(m notify.Message) string {
	if m.Locale == "" {
		return c.language
	}
	return strings.ReplaceAll(m.Locale, "-", "_")
}
