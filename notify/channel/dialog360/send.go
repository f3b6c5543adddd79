package dialog360

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel/internal/rest"
)

// Send hands m to 360dialog and returns WhatsApp's message id as the receipt. The
// package documentation says what the classes of its errors mean; a content that
// cannot be sent is Permanent, and so are attachments.
func (c *Channel) Send(ctx context.Context, m notify.Message) (notify.Receipt, error) {
	body, err := c.build(m)
	if err != nil {
		return notify.Receipt{}, err
	}
	answer, err := c.client.Do(ctx, rest.Call{URL: c.url, ContentType: "application/json", Body: body})
	if err != nil {
		return notify.Receipt{}, err
	}
	if answer.Status != http.StatusOK && answer.Status != http.StatusCreated {
		return notify.Receipt{}, refusal(answer)
	}
	id := sentID(answer)
	if id == "" {
		return notify.Receipt{}, answer.Unknown("no-id")
	}
	return notify.Receipt{ID: id}, nil
}

func sentID(a *rest.Answer) string {
	var body struct {
		Messages []struct {
			ID rest.Text `json:"id"`
		} `json:"messages"`
	}
	if a.JSON(&body) != nil || len(body.Messages) != 1 {
		return ""
	}
	return rest.ProviderID(string(body.Messages[0].ID))
}

// metaCode is the code of an error of Meta; one of 360dialog has none, and is a
// text where Meta has an object.
func metaCode(a *rest.Answer) string {
	var body struct {
		Error json.RawMessage `json:"error"`
	}
	var inner struct {
		Code rest.Text `json:"code"`
	}
	if a.JSON(&body) != nil || json.Unmarshal(body.Error, &inner) != nil {
		return ""
	}
	return string(inner.Code)
}
