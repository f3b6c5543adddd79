package webhook

import (
	"encoding/json"

	"github.com/belfry-go/belfry/notify"
)

// These are the body of a request. Nothing in it depends on the attempt.
type (
	body struct {
		Type string `json:"type"`
		Data data   `json:"data"`
	}
	data struct {
		ID             string                  `json:"id"`
		Name           string                  `json:"name,omitempty"`
		Subject        string                  `json:"subject,omitempty"`
		Text           string                  `json:"text,omitempty"`
		HTML           string                  `json:"html,omitempty"`
		Locale         string                  `json:"locale,omitempty"`
		Template       notify.ProviderTemplate `json:"template,omitzero"`
		Metadata       map[string]string       `json:"metadata,omitempty"`
		UnsubscribeURL string                  `json:"unsubscribeUrl,omitempty"`
	}
)

func (c *Channel) body(m notify.Message) ([]byte, error) {
	text, err := json.Marshal(body{c.kind, data{
		ID: m.ID, Name: m.Name, Subject: m.Subject, Text: m.Text, HTML: m.HTML, Locale: m.Locale,
		Template: m.Template, Metadata: m.Metadata, UnsubscribeURL: m.UnsubscribeURL,
	}})
	if err != nil { // texts only
		return nil, notify.Permanent("json", err)
	}
	return text, nil
}
