package infobip

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel/internal/rest"
)

// Send hands m to Infobip and returns its message id, which is ours, as the
// receipt. The package documentation says what the classes of its errors mean; a
// content that cannot be sent is Permanent, and so are attachments. Subject and
// HTML are not sent, and a template by WhatsApp only.
func (c *Channel) Send(ctx context.Context, m notify.Message) (notify.Receipt, error) {
	if err := c.check(m); err != nil {
		return notify.Receipt{}, err
	}
	path, body := c.medium.request(c, m)
	encoded, err := json.Marshal(body)
	if err != nil { // texts only
		return notify.Receipt{}, notify.Permanent("json", err)
	}
	answer, err := c.client.Do(ctx, rest.Call{URL: c.url + path, ContentType: "application/json", Body: encoded})
	if err != nil {
		return notify.Receipt{}, err
	}
	if answer.Status != http.StatusOK {
		return notify.Receipt{}, refusal(answer)
	}
	sent, err := firstSent(answer)
	if err != nil {
		return notify.Receipt{}, answer.Unknown("no-status")
	}
	if err := outcome(answer, sent.Status); err != nil {
		return notify.Receipt{}, err
	}
	return notify.Receipt{ID: rest.ProviderID(string(sent.MessageID))}, nil
}

// refusal is an answer other than 200, in one of the two forms of Infobip's
// errors.
func refusal(a *rest.Answer) error {
	var body struct {
		RequestError struct {
			ServiceException struct {
				MessageID rest.Text `json:"messageId"` // "UNAUTHORIZED"
			} `json:"serviceException"`
		} `json:"requestError"`
		ErrorCode rest.Text `json:"errorCode"` // "E401"
	}
	if a.JSON(&body) != nil {
		return a.Refusal("")
	}
	if code := body.RequestError.ServiceException.MessageID; code != "" {
		return a.Refusal(string(code))
	}
	return a.Refusal(string(body.ErrorCode))
}
