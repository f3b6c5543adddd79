package rest

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/belfry-go/belfry/notify/channel"
)

var e164 = regexp.MustCompile(`^\+[1-9][0-9]{4,14}$`)

// E164 says whether text is a phone number as E.164 has it, with its plus.
func E164(text string) bool { return e164.MatchString(text) }

// Unsendable is the Permanent error of a message that the provider would refuse, and
// is therefore not asked about.
func Unsendable(provider, code, why string) *channel.Error {
	return channel.Permanent(code, errors.New(provider+": "+why)).Blame(channel.FaultMessage)
}

// CheckID refuses a message without an id that comes back from providers as it was.
func CheckID(provider string, m channel.Message) error {
	if MessageID(m.ID) == "" {
		return Unsendable(provider, "id", "message id is not 1 to 64 of a-z, 0-9, - and _")
	}
	return nil
}

// CheckPhone refuses what no channel to a phone can send: a message without such an
// id, to anything but a number in E.164 form, or with attachments or Mail.
func CheckPhone(provider string, m channel.Message) error {
	switch err := CheckID(provider, m); {
	case err != nil:
		return err
	case !E164(m.To):
		return Unsendable(provider, "address", "recipient is not a number in E.164 form").Blame(channel.FaultAddress)
	case len(m.Attachments) > 0:
		return Unsendable(provider, "attachments", "a message with attachments cannot be sent")
	case !m.Mail.IsZero():
		return Unsendable(provider, "mail", "a message with Content.Mail is for e-mail only")
	}
	return nil
}

// CheckTemplate refuses a name that no template of WhatsApp has, and parameters that
// are empty.
func CheckTemplate(provider string, t channel.ProviderTemplate) error {
	switch {
	case strings.Trim(t.Name, "abcdefghijklmnopqrstuvwxyz0123456789_") != "":
		return Unsendable(provider, "template", "template's name is not of a-z, 0-9 and _")
	case slices.Contains(t.Params, ""):
		return Unsendable(provider, "template", "a parameter of the template is empty")
	}
	return nil
}

// TemplateLanguage is a message's locale as WhatsApp writes it: "pt_BR".
func TemplateLanguage(m channel.Message, otherwise string) string {
	if m.Locale == "" {
		return otherwise
	}
	return strings.ReplaceAll(m.Locale, "-", "_")
}
