package postmark

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/channel/internal/rest"
)

// settled is how long after its call a message that cannot be found was not accepted.
const settled = 15 * time.Minute

// minRetention leaves a day to ask in.
const minRetention = 48 * time.Hour

// LookupWindow is Options.Retention, less a day.
func (c *Channel) LookupWindow() time.Duration { return c.retention - 24*time.Hour }

var errOtherMessages = errors.New("postmark: the search returned messages with other ids")

// Lookup searches the sent messages for the id of m. One that is found was accepted, by
// whichever of its calls. One that is not found is absent when by Postmark's own clock a
// quarter of an hour has passed since m.On; before that it is not known.
func (c *Channel) Lookup(ctx context.Context, m channel.Message) (channel.LookupResult, error) {
	if err := rest.CheckID(provider, m); err != nil {
		return channel.LookupResult{}, err
	}
	query := url.Values{"count": {"5"}, "offset": {"0"}, "metadata_" + idField: {m.ID}, "messagestream": {c.stream}}
	answer, err := c.client.Do(ctx, rest.Call{Method: http.MethodGet, URL: c.url + "/messages/outbound?" + query.Encode()})
	if err != nil {
		return channel.LookupResult{}, err
	}
	var found struct {
		TotalCount *int      `json:"TotalCount"`
		ErrorCode  int       `json:"ErrorCode"`
		Messages   []message `json:"Messages"`
	}
	switch err := answer.JSON(&found); {
	case answer.Status != http.StatusOK:
		return channel.LookupResult{}, refusal(answer, found.ErrorCode)
	case err != nil:
		return channel.LookupResult{}, err
	case found.TotalCount == nil:
		return channel.LookupResult{}, answer.Unknown("no-count")
	}
	return verdict(found.Messages, *found.TotalCount, m, answer.Header)
}

// message is one that was found.
type message struct {
	MessageID rest.Text            `json:"MessageID"`
	Metadata  map[string]rest.Text `json:"Metadata"`
}

// verdict does not rely on a search that was made for something else.
func verdict(found []message, total int, m channel.Message, h http.Header) (channel.LookupResult, error) {
	for _, f := range found {
		if string(f.Metadata[idField]) == m.ID {
			return channel.LookupResult{Status: channel.LookupAccepted, Receipt: channel.Receipt{ID: rest.ProviderID(string(f.MessageID))}}, nil
		}
	}
	now, err := http.ParseTime(h.Get("Date"))
	switch {
	case len(found) > 0 || total != 0:
		return channel.LookupResult{}, errOtherMessages
	case err != nil || m.On.IsZero() || now.Sub(m.On) < settled:
		return channel.LookupResult{}, nil
	}
	return channel.LookupResult{Status: channel.LookupAbsent}, nil
}
