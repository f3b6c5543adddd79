package postmark

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"time"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/channel/internal/rest"
)

var _ channel.Webhook = (*Webhook)(nil)

const provider = "postmark"

// Webhook reads Postmark's callbacks. Postmark signs nothing: the proof is a user and a
// password in the URL that it calls ("Protecting your webhook"). The zero value has none
// and refuses all of them.
type Webhook struct {
	proved func(http.Header) bool // a function, so that no printed Webhook shows the password
}

// NewWebhook returns a webhook for callbacks with that user and password. Take a long
// random password: nothing else tells a callback from a forgery. The error does not hold
// it.
func NewWebhook(username, password string) (*Webhook, error) {
	var f rest.Faults
	f.Secret("username", username)
	f.Secret("password", password)
	f.Add(len(password) < minPassword, "password is shorter than 16 characters")
	if err := f.Err(provider); err != nil {
		return nil, err
	}
	h := http.Header{}
	rest.Basic(username, password)(h)
	want := []byte(h.Get("Authorization"))
	return &Webhook{func(h http.Header) bool { return hmac.Equal([]byte(h.Get("Authorization")), want) }}, nil
}

const minPassword = 16

// Provider returns "postmark".
func (w *Webhook) Provider() string { return provider }

// Events proves the callback and reads its event. Most of Postmark's have no id and no
// proof of their time: the id is made of the type, the message, the recipient and the
// time, so that a replay is known as a repetition. A bounce is two events, since the
// message has failed and its address too.
func (w *Webhook) Events(r channel.WebhookRequest) ([]channel.StatusEvent, error) {
	switch {
	case r.Method != http.MethodPost:
		return nil, rest.Refused(provider, "method is not POST")
	case len(r.Body) > rest.MaxCallback:
		return nil, rest.Refused(provider, "body is too long")
	case w.proved == nil || !w.proved(r.Header):
		return nil, rest.Refused(provider, "user or password is missing or wrong")
	}
	return read(r.Body)
}

// event is a callback of any type ("Webhooks"), as far as it is used.
type event struct {
	RecordType  rest.Text `json:"RecordType"`
	ID          rest.Text `json:"ID"`
	Type        rest.Text `json:"Type"` // of a bounce
	MessageID   rest.Text `json:"MessageID"`
	Recipient   rest.Text `json:"Recipient"`
	Email       rest.Text `json:"Email"` // the recipient of a bounce or complaint
	DeliveredAt rest.Text `json:"DeliveredAt"`
	BouncedAt   rest.Text `json:"BouncedAt"`
	ReceivedAt  rest.Text `json:"ReceivedAt"` // of an open or a click
	ChangedAt   rest.Text `json:"ChangedAt"`
	Metadata    struct {
		Ours rest.Text `json:"belfry_message"`
	} `json:"Metadata"`
	SuppressSending   rest.Text `json:"SuppressSending"`
	SuppressionReason rest.Text `json:"SuppressionReason"`
	Origin            rest.Text `json:"Origin"`
	Stream            rest.Text `json:"MessageStream"` // which has a list of who left
}

// read gives none if the callback is not about a message of ours.
func read(body []byte) ([]channel.StatusEvent, error) {
	var e event
	if err := rest.DecodeCallback(provider, body, &e); err != nil {
		return nil, err
	}
	ours := rest.MessageID(string(e.Metadata.Ours))
	told := e.tells()
	if ours == "" || len(told) == 0 {
		return nil, nil
	}
	var out []channel.StatusEvent
	for _, t := range told {
		out = append(out, channel.StatusEvent{
			Provider: provider, EventID: e.id() + t.suffix, Kind: t.kind, Lasting: t.lasting, On: e.on(), MessageID: ours,
			ProviderMessageID: rest.ProviderID(string(e.MessageID)), Code: rest.Code(string(cmp.Or(e.Type, e.SuppressionReason))),
			List: rest.ProviderID(string(e.Stream)), Address: channel.PrivateAddress(e.recipient()),
		})
	}
	return out, nil
}

// fact is one of those that a callback tells.
type fact struct {
	kind    channel.StatusKind
	lasting bool
	suffix  string
}

func (e event) tells() []fact {
	switch e.RecordType {
	case "Delivery":
		return []fact{{kind: channel.KindDelivered}}
	case "Open", "Click":
		return []fact{{kind: channel.KindOpened}}
	case "SpamComplaint":
		return []fact{{kind: channel.KindComplained}}
	case "Bounce":
		return e.bounce()
	case "SubscriptionChange":
		return e.change()
	}
	return nil
}

// bounce goes by the documented types. Some are mails that came back though the message
// has arrived.
func (e event) bounce() []fact {
	switch e.Type {
	case "AutoResponder", "Subscribe", "AddressChange", "ChallengeVerification", "OpenRelayTest":
		return []fact{{kind: channel.KindAccepted}}
	case "Unsubscribe":
		return []fact{{kind: channel.KindUnsubscribed}}
	case "SpamComplaint":
		return []fact{{kind: channel.KindComplained}}
	case "ManuallyDeactivated":
		return []fact{{kind: channel.KindFailed}}
	}
	lasting := e.Type == "HardBounce" || e.Type == "BadEmailAddress"
	return []fact{{kind: channel.KindFailed}, {kind: channel.KindBounced, lasting: lasting, suffix: ":bounced"}}
}

// change is the recipient's own doing; what the account's people suppress by hand, or
// allow again, is theirs to know.
func (e event) change() []fact {
	switch {
	case e.SuppressSending == "false" && e.Origin == "Recipient":
		return []fact{{kind: channel.KindResubscribed}}
	case e.SuppressSending != "true":
		return nil
	case e.SuppressionReason == "HardBounce":
		return []fact{{kind: channel.KindBounced, lasting: true}}
	case e.SuppressionReason == "SpamComplaint":
		return []fact{{kind: channel.KindComplained}}
	case e.SuppressionReason == "ManualSuppression" && e.Origin == "Recipient":
		return []fact{{kind: channel.KindUnsubscribed}}
	}
	return nil
}

func (e event) recipient() rest.Text { return cmp.Or(e.Recipient, e.Email) }

func (e event) at() rest.Text { return cmp.Or(e.DeliveredAt, e.BouncedAt, e.ReceivedAt, e.ChangedAt) }

// on is zero where the time is none.
func (e event) on() time.Time {
	t, err := time.Parse(time.RFC3339, string(e.at()))
	if err != nil || t.Year() < 2000 || t.Year() > 2300 {
		return time.Time{}
	}
	return t.UTC()
}

// id is a hash, since it is made of an address too.
func (e event) id() string {
	var parts []string
	for _, p := range []rest.Text{e.RecordType, e.ID, e.MessageID, e.recipient(), e.at()} {
		parts = append(parts, string(p))
	}
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x1f")))
	return hex.EncodeToString(sum[:20])
}
