package webhook

import (
	"cmp"
	"context"
	"errors"
	"net/http"

	"github.com/belfry-go/belfry/internal/safedial"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel/internal/rest"
)

// Send posts m to the URL in m.To. The receipt is empty, since receivers give
// none. The package documentation says what the classes of its errors mean; they
// hold neither the URL nor the host.
func (c *Channel) Send(ctx context.Context, m notify.Message) (notify.Receipt, error) {
	if err := c.check(m); err != nil {
		return notify.Receipt{}, err
	}
	keys, err := c.keys(ctx, m.To)
	if err != nil { // whose text may hold anything
		return notify.Receipt{}, notify.Transient("secrets", 0, errors.New("webhook: no secrets of the receiver"))
	}
	body, err := c.body(m)
	if err != nil {
		return notify.Receipt{}, err
	}
	answer, err := c.client.Do(ctx, rest.Call{URL: m.To, Header: keys.Header(m.ID, m.On, body), ContentType: "application/json", Body: body, StatusOnly: true})
	if err != nil {
		return notify.Receipt{}, unanswered(err)
	}
	return notify.Receipt{}, outcome(answer)
}

// outcome is nil for 2xx. A receiver has its own reasons for 401 or 404, and would
// have them again; what it asks to repeat is repeated.
func outcome(a *rest.Answer) error {
	switch {
	case a.Status/100 == 2:
		return nil
	case a.Status == http.StatusRequestTimeout, a.Status == http.StatusTooEarly, a.Status == http.StatusTooManyRequests:
		return a.Transient("")
	case a.Status/100 == 4:
		return a.Permanent("")
	}
	return a.Refusal("")
}

// unanswered keeps the class of an error, and of its cause only the kind: names
// and addresses of receivers stand in it.
func unanswered(err error) error {
	e, cause := notify.Classify(err), safedial.Cause(err)
	if errors.Is(err, safedial.ErrForbidden) {
		return notify.Permanent(cause, safedial.ErrForbidden)
	}
	return &notify.SendError{Class: e.Class, Code: cmp.Or(cause, e.Code), Err: errors.New("webhook: no connection or no answer")}
}
