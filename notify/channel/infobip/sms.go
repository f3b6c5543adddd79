package infobip

import "github.com/belfry-go/belfry/notify"

// These are the body of a request to "Send SMS messages" (v3), as far as it is
// used.
type (
	smsMessages struct {
		Messages []smsMessage `json:"messages"`
	}
	smsMessage struct {
		Sender       string           `json:"sender"`
		Destinations []smsDestination `json:"destinations"`
		Content      text             `json:"content"`
		Webhooks     callbackData     `json:"webhooks"`
	}
	smsDestination struct {
		To        string `json:"to"`
		MessageID string `json:"messageId"`
	}
	text struct {
		Text string `json:"text"`
	}
	callbackData struct {
		CallbackData string `json:"callbackData"`
	}
)

func smsRequest(c *Channel, m notify.Message) (path string, body any) {
	return "/sms/3/messages", smsMessages{[]smsMessage{{
		Sender:       number(c.from),
		Destinations: []smsDestination{{number(m.To), m.ID}},
		Content:      text{m.Text},
		Webhooks:     callbackData{m.ID},
	}}}
}
