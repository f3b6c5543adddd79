package twilio

import (
	"encoding/json"
	"errors"
	"net/url"
	"strconv"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel/internal/rest"
)

// form makes the parameters of m, or says with a Permanent error why it cannot.
func (c *Channel) form(m notify.Message) (url.Values, error) {
	if err := check(m); err != nil {
		return nil, err
	}
	form := url.Values{"To": {c.address(m.To)}}
	set := func(name, value string) {
		if value != "" {
			form.Set(name, value)
		}
	}
	set("From", c.address(c.options.From))
	set("MessagingServiceSid", c.options.MessagingServiceSID)
	set("StatusCallback", c.options.callback(m.ID))
	if m.Template.Name == "" {
		set("Body", m.Text)
		return form, nil
	}
	set("ContentSid", m.Template.Name)
	set("ContentVariables", variables(m.Template.Params))
	return form, nil
}

func check(m notify.Message) error {
	switch {
	case rest.MessageID(m.ID) == "":
		return permanent("id", "message id is not 1 to 64 of a-z, 0-9, - and _")
	case !e164.MatchString(m.To):
		return permanent("address", "recipient is no number in E.164 form")
	case len(m.Attachments) > 0:
		return permanent("attachments", "a message with attachments cannot be sent")
	case m.Template.Name != "" && !contentSID.MatchString(m.Template.Name):
		return permanent("template", "template is not a Content SID, HX and 32 hex digits")
	case m.Template.Name == "" && m.Text == "":
		return permanent("empty", "message without text and template")
	}
	return nil
}

func permanent(code, why string) error {
	return notify.Permanent(code, errors.New("twilio: "+why))
}

// address is a number as the channel's medium writes it.
func (c *Channel) address(number string) string {
	if c.whatsApp && number != "" {
		return "whatsapp:" + number
	}
	return number
}

// variables numbers the parameters from 1, as WhatsApp's placeholders are.
func variables(params []string) string {
	if len(params) == 0 {
		return ""
	}
	byNumber := make(map[string]string, len(params))
	for i, p := range params {
		byNumber[strconv.Itoa(i+1)] = p
	}
	text, _ := json.Marshal(byNumber) // texts can be marshalled
	return string(text)
}
