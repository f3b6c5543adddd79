package sendgrid

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel/internal/rest"
)

// Send hands m to SendGrid and returns its X-Message-Id as the receipt. The
// package documentation says what the classes of its errors mean; a content that
// makes no mail is Permanent. One that names a template is refused
// too: its text is not in the parts, and dynamic templates are not used.
func (c *Channel) Send(ctx context.Context, m notify.Message) (notify.Receipt, error) {
	body, err := c.build(m)
	if err != nil {
		return notify.Receipt{}, err
	}
	answer, err := c.client.Do(ctx, rest.Call{URL: c.url, ContentType: "application/json", Body: body})
	if err != nil {
		return notify.Receipt{}, err
	}
	if answer.Status != http.StatusAccepted {
		return notify.Receipt{}, refusal(answer)
	}
	return notify.Receipt{ID: rest.ProviderID(answer.Header.Get("X-Message-Id"))}, nil
}

// refusal takes the field at fault for a code; messages may quote addresses.
func refusal(a *rest.Answer) error {
	var body struct {
		Errors []struct {
			Field rest.Text `json:"field"`
		} `json:"errors"`
	}
	code := ""
	if a.JSON(&body) == nil && len(body.Errors) > 0 {
		code = string(body.Errors[0].Field)
	}
	e := a.Refusal(code)
	if e.RetryAfter == 0 && a.Status == http.StatusTooManyRequests {
		e.RetryAfter = untilReset(a.Header)
	}
	return e
}

// untilReset reads X-RateLimit-Reset, in seconds since 1970 by SendGrid's clock.
func untilReset(h http.Header) time.Duration {
	reset, err := strconv.ParseInt(h.Get("X-RateLimit-Reset"), 10, 64)
	now, err2 := http.ParseTime(h.Get("Date"))
	if err != nil || err2 != nil || reset < 0 || reset > now.Add(24*time.Hour).Unix() {
		return 0
	}
	return max(0, time.Unix(reset, 0).Sub(now))
}
