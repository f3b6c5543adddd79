package ses

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/channel/internal/rest"
)

var _ channel.Webhook = (*Webhook)(nil)

const provider = "ses"

// Webhook reads the events that SES publishes to topics of SNS, and confirms the
// subscriptions of these. The zero value has no topic and refuses all of them.
type Webhook struct {
	topics       map[string]bool
	certificates *certificates
}

var topicARN = regexp.MustCompile(`^arn:aws[a-z-]*:sns:[a-z0-9-]+:[0-9]{12}:[A-Za-z0-9_-]{1,256}$`)

// NewWebhook returns a webhook for the topics of those ARNs. It fetches SNS's certificates
// from SNS, over https, when it needs one.
func NewWebhook(topics ...string) (*Webhook, error) {
	return newWebhook(rest.Options{}, topics...)
}

func newWebhook(o rest.Options, topics ...string) (*Webhook, error) {
	if len(topics) == 0 {
		return nil, errors.New("ses: NewWebhook needs the ARN of a topic")
	}
	o.Provider, o.Timeout = provider, cmp.Or(o.Timeout, 5*time.Second) // a callback has ten
	w := &Webhook{topics: map[string]bool{}, certificates: &certificates{client: rest.NewClient(o)}}
	for i, arn := range topics {
		if !topicARN.MatchString(arn) {
			return nil, fmt.Errorf("ses: topic %d is not an ARN of the form arn:aws:sns:eu-west-1:123456789012:name", i+1)
		}
		w.topics[arn] = true
	}
	return w, nil
}

// Provider returns "ses".
func (w *Webhook) Provider() string { return provider }

// Close ends the idle connections to SNS.
func (w *Webhook) Close() error {
	w.certificates.client.Close()
	return nil
}

// Events verifies SNS's signature, by a certificate that SNS's own host has, and refuses
// what is two hours old. A bounce or a complaint has an event for each address.
func (w *Webhook) Events(r channel.WebhookRequest) ([]channel.StatusEvent, error) {
	switch {
	case r.Method != http.MethodPost:
		return nil, rest.Refused(provider, "method is not POST")
	case len(r.Body) > rest.MaxCallback:
		return nil, rest.Refused(provider, "body is too long")
	}
	e, err := decode(r.Body)
	if err == nil {
		err = w.prove(e, r.Now)
	}
	switch {
	case err != nil:
		return nil, err
	case e.Type == confirmation:
		return nil, w.confirm(e)
	}
	return read(e)
}

// event is one of SES ("Contents of event data that Amazon SES publishes to Amazon SNS"),
// as far as it is used.
type event struct {
	Type rest.Text `json:"eventType"`
	Mail struct {
		MessageID   rest.Text              `json:"messageId"`
		Destination []rest.Text            `json:"destination"`
		Tags        map[string][]rest.Text `json:"tags"`
	} `json:"mail"`
	Bounce struct {
		Type       rest.Text   `json:"bounceType"`
		Recipients []recipient `json:"bouncedRecipients"`
		facts
	} `json:"bounce"`
	Complaint struct {
		Recipients []recipient `json:"complainedRecipients"`
		facts
	} `json:"complaint"`
	Delivery struct {
		Recipients []rest.Text `json:"recipients"`
		facts
	} `json:"delivery"`
	Reject struct {
		Reason rest.Text `json:"reason"`
	} `json:"reject"`
	Open, Click, Delay facts
}

type (
	recipient struct {
		Address rest.Text `json:"emailAddress"`
	}
	facts struct {
		Timestamp rest.Text `json:"timestamp"`
	}
)

// read gives none if the event is not about a message of ours.
func read(e *envelope) ([]channel.StatusEvent, error) {
	var v event
	if err := rest.DecodeCallback(provider, []byte(e.Message), &v); err != nil {
		return nil, err
	}
	var ours string
	if ids := v.Mail.Tags[tagName]; len(ids) == 1 {
		ours = rest.MessageID(string(ids[0]))
	}
	id := rest.ProviderID(e.MessageID)
	if ours == "" || id == "" {
		return nil, nil
	}
	s := channel.StatusEvent{Provider: provider, EventID: id, MessageID: ours, ProviderMessageID: rest.ProviderID(string(v.Mail.MessageID))}
	return v.events(s, e.Timestamp), nil
}

// events are what v says of the message s.
func (v *event) events(s channel.StatusEvent, published string) []channel.StatusEvent {
	only := func(kind channel.StatusKind, at rest.Text, to []rest.Text) []channel.StatusEvent {
		s.Kind, s.On = kind, on(cmp.Or(string(at), published))
		if len(to) == 1 {
			s.Address = channel.PrivateAddress(to[0])
		}
		return []channel.StatusEvent{s}
	}
	switch v.Type {
	case "Send", "DeliveryDelay":
		return only(channel.KindAccepted, "", v.Mail.Destination)
	case "Delivery":
		return only(channel.KindDelivered, v.Delivery.Timestamp, v.Delivery.Recipients)
	case "Open":
		return only(channel.KindOpened, v.Open.Timestamp, nil)
	case "Click":
		return only(channel.KindOpened, v.Click.Timestamp, nil)
	case "Reject", "Rendering Failure":
		s.Code = rest.Code(strings.ToLower(strings.ReplaceAll(string(cmp.Or(v.Reject.Reason, v.Type)), " ", "-")))
		return only(channel.KindFailed, "", v.Mail.Destination)
	case "Bounce":
		s.Code, s.Lasting = rest.Code(strings.ToLower(string(v.Bounce.Type))), v.Bounce.Type == "Permanent"
		return each(s, on(cmp.Or(string(v.Bounce.Timestamp), published)), v.Bounce.Recipients, channel.KindFailed, channel.KindBounced)
	case "Complaint":
		return each(s, on(cmp.Or(string(v.Complaint.Timestamp), published)), v.Complaint.Recipients, channel.KindComplained)
	}
	return nil
}

// each makes an event of each kind for each address.
func each(s channel.StatusEvent, at time.Time, to []recipient, kinds ...channel.StatusKind) (all []channel.StatusEvent) {
	id := s.EventID
	for n, r := range to {
		for _, kind := range kinds {
			s.EventID, s.Kind, s.On, s.Address = fmt.Sprintf("%s:%d:%s", id, n, strings.ToLower(string(kind))), kind, at, channel.PrivateAddress(r.Address)
			all = append(all, s)
		}
	}
	return all
}

// on is zero where the time is none.
func on(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil || t.Year() < 2000 || t.Year() > 2300 {
		return time.Time{}
	}
	return t.UTC()
}
