package infobip

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel/internal/rest"
)

// Lookup asks the logs for the message. It is accepted if they have it with any
// status but a rejection, and absent if the first attempt was rejected. A later
// attempt has the same id, so there a rejection may be that of an earlier one,
// and like a message that is not there it says nothing.
func (c *Channel) Lookup(ctx context.Context, m notify.Message) (notify.LookupResult, error) {
	if rest.MessageID(m.ID) == "" {
		return notify.LookupResult{}, errors.New("infobip: message id is not 1 to 64 of a-z, 0-9, - and _")
	}
	query := url.Values{"messageId": {m.ID}}
	answer, err := c.client.Do(ctx, rest.Call{Method: http.MethodGet, URL: c.url + c.medium.logs + "?" + query.Encode()})
	if err != nil {
		return notify.LookupResult{}, err
	}
	if answer.Status != http.StatusOK {
		return notify.LookupResult{}, refusal(answer)
	}
	var logs struct {
		Results []sent `json:"results"`
	}
	if err := answer.JSON(&logs); err != nil {
		return notify.LookupResult{}, err
	}
	return verdict(logs.Results, m), nil
}

func verdict(logs []sent, m notify.Message) (r notify.LookupResult) {
	for _, l := range logs {
		switch {
		case string(l.MessageID) != m.ID || l.Status.Name == duplicate || kinds[l.Status.GroupName] == "":
		case l.Status.GroupName != rejected:
			return notify.LookupResult{Status: notify.LookupAccepted, Receipt: notify.Receipt{ID: m.ID}}
		case m.Attempt <= 1:
			r.Status = notify.LookupAbsent
		}
	}
	return r
}
