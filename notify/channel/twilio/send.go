package twilio

import (
	"context"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel/internal/rest"
)

// Send hands m to Twilio and returns its SID as the receipt. The package
// documentation says what the classes of its errors mean; a content that cannot
// be sent is Permanent, and so are attachments. Subject and HTML are not sent.
func (c *Channel) Send(ctx context.Context, m notify.Message) (notify.Receipt, error) {
	form, err := c.form(m)
	if err != nil {
		return notify.Receipt{}, err
	}
	answer, err := c.client.Do(ctx, rest.Call{URL: c.url, ContentType: "application/x-www-form-urlencoded", Body: []byte(form.Encode())})
	if err != nil {
		return notify.Receipt{}, err
	}
	var body struct {
		SID  rest.Text `json:"sid"`
		Code rest.Text `json:"code"`
	}
	err = answer.JSON(&body)
	if answer.Status/100 != 2 {
		return notify.Receipt{}, refusal(answer, string(body.Code))
	}
	if err != nil || !messageSID.MatchString(string(body.SID)) {
		return notify.Receipt{}, answer.Unknown("no-sid")
	}
	return notify.Receipt{ID: string(body.SID)}, nil
}

// busy are the codes of a refusal that passes, whatever the status (Twilio
// documentation, "Error and Warning Dictionary").
var busy = map[string]bool{
	"21611": true, // the sender's queue is full
	"63038": true, // the account's daily limit is reached
}

func refusal(a *rest.Answer, code string) error {
	if busy[code] {
		return a.Transient(code)
	}
	return a.Refusal(code)
}
