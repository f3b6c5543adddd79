package sendgrid

import (
	"encoding/json"

	"github.com/belfry-go/belfry/notify"
)

// idArg is the custom argument in which the message id travels.
const idArg = "belfry_message"

// These are the body of a Mail Send request, as far as it is used.
type (
	mailRequest struct {
		Personalizations []personalization `json:"personalizations"`
		From             *party            `json:"from"`
		ReplyTo          *party            `json:"reply_to,omitempty"`
		Subject          string            `json:"subject"`
		Content          []part            `json:"content"`
		Attachments      []attachment      `json:"attachments,omitempty"`
		Headers          map[string]string `json:"headers"`
	}
	personalization struct {
		To         []party           `json:"to"`
		CustomArgs map[string]string `json:"custom_args"`
	}
	party struct {
		Email string `json:"email"`
		Name  string `json:"name,omitempty"`
	}
	part struct {
		Type  string `json:"type"`
		Value string `json:"value"`
	}
	attachment struct {
		Content     []byte `json:"content"` // base64
		Type        string `json:"type"`
		Filename    string `json:"filename"`
		Disposition string `json:"disposition"`
		ContentID   string `json:"content_id,omitempty"`
	}
)

// build makes the request of m, or says with a Permanent error why it cannot.
func (c *Channel) build(m notify.Message) ([]byte, error) {
	if err := check(m); err != nil {
		return nil, err
	}
	r := mailRequest{
		Personalizations: []personalization{{To: []party{{m.To, m.Name}}, CustomArgs: map[string]string{idArg: m.ID}}},
		From:             c.from, ReplyTo: c.replyTo, Subject: m.Subject,
		Content: content(m), Attachments: attachments(m.Attachments), Headers: headers(m),
	}
	body, err := json.Marshal(r)
	if err != nil { // texts and bytes only
		return nil, notify.Permanent("mail", err)
	}
	return body, nil
}

// content is text before HTML, as SendGrid demands. An empty part is refused by
// it, and so is a mail without one: then the subject is all there is to say.
func content(m notify.Message) []part {
	var all []part
	if m.Text != "" || m.HTML == "" {
		text := m.Text
		if text == "" {
			text = m.Subject
		}
		all = append(all, part{"text/plain", text})
	}
	if m.HTML != "" {
		all = append(all, part{"text/html", m.HTML})
	}
	return all
}

func attachments(in []notify.Attachment) []attachment {
	var out []attachment
	for _, a := range in {
		disposition := "attachment"
		if a.ContentID != "" {
			disposition = "inline"
		}
		out = append(out, attachment{a.Data, a.MediaType, a.Name, disposition, a.ContentID})
	}
	return out
}

func headers(m notify.Message) map[string]string {
	h := map[string]string{"Auto-Submitted": "auto-generated"} // no out-of-office replies (RFC 3834)
	if m.UnsubscribeURL != "" {
		h["List-Unsubscribe"] = "<" + m.UnsubscribeURL + ">"
		h["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
	}
	return h
}
