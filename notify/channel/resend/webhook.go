package resend

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/belfry-go/belfry/internal/standardwebhooks"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/channel/internal/rest"
)

var _ channel.Webhook = (*Webhook)(nil)

const provider = "resend"

// Webhook reads the events that Resend sends, which are Standard Webhooks under the
// older names of their headers. The zero value has no secret and refuses all of them.
type Webhook struct {
	keys standardwebhooks.Keys
}

// NewWebhook returns a webhook for events signed under any of the signing secrets
// ("whsec_…"). More than one is for the time in which a secret is replaced, or for
// several webhooks. The error does not hold them.
func NewWebhook(secrets ...string) (*Webhook, error) {
	keys, err := standardwebhooks.ParseKeys(secrets...)
	if err != nil {
		return nil, errors.New("resend: signing " + err.Error())
	}
	return &Webhook{keys}, nil
}

// Provider returns "resend".
func (w *Webhook) Provider() string { return provider }

// names are the headers of a signed event (Resend documentation, "Verify Webhooks
// Requests"), by what the standard calls them.
var names = map[string]string{
	standardwebhooks.HeaderID:        "svix-id",
	standardwebhooks.HeaderTimestamp: "svix-timestamp",
	standardwebhooks.HeaderSignature: "svix-signature",
}

// Events verifies the signature over id, time and body, and refuses a time that is more
// than five minutes from r.Now. The id of a request is that of its event, of which a
// bounce makes two: the message has failed, and its address too.
func (w *Webhook) Events(r channel.WebhookRequest) ([]channel.StatusEvent, error) {
	switch {
	case r.Method != http.MethodPost:
		return nil, rest.Refused(provider, "method is not POST")
	case len(r.Body) > rest.MaxCallback:
		return nil, rest.Refused(provider, "body is too long")
	}
	signed := http.Header{}
	for standard, theirs := range names {
		signed.Set(standard, r.Header.Get(theirs))
	}
	if err := w.keys.Verify(signed, r.Body, r.Now); err != nil {
		return nil, rest.Refused(provider, strings.TrimPrefix(err.Error(), "standardwebhooks: "))
	}
	return read(r.Header.Get(names[standardwebhooks.HeaderID]), r.Body)
}

// event is one of Resend's ("Webhooks", "Event Types"), as far as it is used.
type event struct {
	Type      rest.Text `json:"type"`
	CreatedAt rest.Text `json:"created_at"`
	Data      data      `json:"data"`
}

type data struct {
	EmailID rest.Text   `json:"email_id"`
	To      []rest.Text `json:"to"` // those whom it is about
	Tags    tags        `json:"tags"`
	Bounce  struct {
		Type rest.Text `json:"type"` // "Permanent", "Transient", "Undetermined"
	} `json:"bounce"`
	Failed struct {
		Reason rest.Text `json:"reason"`
	} `json:"failed"`
}

// tags are those of a mail. The reference has a list of names and values, its examples an
// object.
type tags map[string]rest.Text

// UnmarshalJSON never fails.
func (t *tags) UnmarshalJSON(b []byte) error {
	var object map[string]rest.Text
	var list []struct{ Name, Value rest.Text }
	switch {
	case json.Unmarshal(b, &object) == nil:
		*t = object
	case json.Unmarshal(b, &list) == nil:
		*t = tags{}
		for _, tag := range list {
			(*t)[string(tag.Name)] = tag.Value
		}
	}
	return nil
}

// kinds are the types of events that tell of a message.
var kinds = map[rest.Text]channel.StatusKind{
	"email.sent":             channel.KindAccepted,
	"email.delivery_delayed": channel.KindAccepted, // Resend goes on trying
	"email.delivered":        channel.KindDelivered,
	"email.opened":           channel.KindOpened,
	"email.clicked":          channel.KindOpened,
	"email.failed":           channel.KindFailed,
	"email.suppressed":       channel.KindFailed, // by Resend's own list, which does not say why
	"email.bounced":          channel.KindFailed,
	"email.complained":       channel.KindComplained,
}

// read gives none if the event is not about a message of ours.
func read(id string, body []byte) ([]channel.StatusEvent, error) {
	var e event
	if err := rest.DecodeCallback(provider, body, &e); err != nil {
		return nil, err
	}
	ours, known, kind := rest.MessageID(string(e.Data.Tags[tagName])), rest.ProviderID(id), kinds[e.Type]
	if ours == "" || known == "" || kind == "" {
		return nil, nil
	}
	s := channel.StatusEvent{Provider: provider, EventID: known, Kind: kind, On: on(e.CreatedAt), MessageID: ours,
		ProviderMessageID: rest.ProviderID(string(e.Data.EmailID)), Code: e.code()}
	if len(e.Data.To) == 1 {
		s.Address = channel.PrivateAddress(e.Data.To[0])
	}
	if e.Type != "email.bounced" {
		return []channel.StatusEvent{s}, nil
	}
	bounced := s
	bounced.EventID += ":bounced"
	bounced.Kind, bounced.Lasting = channel.KindBounced, e.Data.Bounce.Type == "Permanent"
	return []channel.StatusEvent{s, bounced}, nil
}

// on is zero where the time is none.
func on(text rest.Text) time.Time {
	for _, layout := range []string{time.RFC3339, "2006-01-02 15:04:05Z07"} {
		if t, err := time.Parse(layout, string(text)); err == nil && t.Year() > 1999 && t.Year() < 2300 {
			return t.UTC()
		}
	}
	return time.Time{}
}

func (e event) code() string {
	switch e.Type {
	case "email.bounced":
		return rest.Code(strings.ToLower(string(e.Data.Bounce.Type)))
	case "email.failed":
		return rest.Code(string(e.Data.Failed.Reason))
	case "email.suppressed":
		return "suppressed"
	}
	return ""
}
