package infobip

import "github.com/belfry-go/belfry/notify"

// These are the bodies of requests to "Send WhatsApp text message" and "Send
// WhatsApp template message", as far as they are used.
type (
	whatsAppMessages struct {
		Messages []whatsAppMessage `json:"messages"`
	}
	whatsAppMessage struct {
		From         string `json:"from"`
		To           string `json:"to"`
		MessageID    string `json:"messageId"`
		Content      any    `json:"content"` // text or template
		CallbackData string `json:"callbackData"`
	}
	template struct {
		TemplateName string       `json:"templateName"`
		TemplateData templateData `json:"templateData"`
		Language     string       `json:"language"`
	}
	templateData struct {
		Body placeholders `json:"body"`
	}
	placeholders struct {
		Placeholders []string `json:"placeholders"`
	}
)

func whatsAppRequest(c *Channel, m notify.Message) (path string, body any) {
	w := whatsAppMessage{From: number(c.from), To: number(m.To), MessageID: m.ID, CallbackData: m.ID}
	if m.Template.Name == "" {
		w.Content = text{m.Text}
		return "/whatsapp/1/message/text", w
	}
	params := append([]string{}, m.Template.Params...) // an empty list, never null
	w.Content = template{m.Template.Name, templateData{placeholders{params}}, c.languageOf(m)}
	return "/whatsapp/1/message/template", whatsAppMessages{[]whatsAppMessage{w}}
}
