package dialog360

import (
	"encoding/json"

	"github.com/belfry-go/belfry/notify"
)

// These are the body of a request to send a message, as far as it is used
// (WhatsApp Business Platform, "Messages").
type (
	messageRequest struct {
		Product   string    `json:"messaging_product"`
		Recipient string    `json:"recipient_type"`
		To        string    `json:"to"`
		Type      string    `json:"type"`
		Text      *text     `json:"text,omitempty"`
		Template  *template `json:"template,omitempty"`
		// Ours comes back in every status of the message.
		Ours string `json:"biz_opaque_callback_data"`
	}
	text struct {
		Preview bool   `json:"preview_url"`
		Body    string `json:"body"`
	}
	template struct {
		Name       string         `json:"name"`
		Language   templateLocale `json:"language"`
		Components []component    `json:"components,omitempty"`
	}
	templateLocale struct {
		Code string `json:"code"`
	}
	component struct {
		Type       string      `json:"type"`
		Parameters []parameter `json:"parameters"`
	}
	parameter struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
)

// build makes the request of m, or says with a Permanent error why it cannot.
func (c *Channel) build(m notify.Message) ([]byte, error) {
	if err := c.check(m); err != nil {
		return nil, err
	}
	r := messageRequest{Product: "whatsapp", Recipient: "individual", To: m.To, Type: "text", Ours: m.ID}
	if m.Template.Name == "" {
		r.Text = &text{Body: m.Text}
	} else {
		r.Type, r.Template = "template", &template{m.Template.Name, templateLocale{c.languageOf(m)}, components(m.Template.Params)}
	}
	body, err := json.Marshal(r)
	if err != nil { // texts only
		return nil, notify.Permanent("json", err)
	}
	return body, nil
}

func components(params []string) []component {
	if len(params) == 0 {
		return nil
	}
	body := component{Type: "body"}
	for _, p := range params {
		body.Parameters = append(body.Parameters, parameter{"text", p})
	}
	return []component{body}
}
