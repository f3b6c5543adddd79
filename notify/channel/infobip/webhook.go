package infobip

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/channel/internal/rest"
)

var _ channel.Webhook = (*Webhook)(nil)

// Webhook reads Infobip's delivery and seen reports. The zero value has no
// credentials and refuses all of them.
type Webhook struct {
	proofs []func(channel.WebhookRequest) bool // functions, so that no printed Webhook shows the credentials
}

// WebhookOptions are the authentication settings of the account's subscriptions
// (Infobip documentation, "Subscriptions Management"): BASIC, HMAC, or both, in
// which case a report must hold both proofs.
type WebhookOptions struct {
	// Username is that of the type BASIC; empty: reports need not have it.
	Username string
	// Password is that of the Username.
	Password string
	// HMACKey is the secret key of the type HMAC, with SHA-256 over the raw body.
	HMACKey string
	// HMACHeader is the header in which the subscription sends the signature, in
	// hex or base64, with or without "sha256=" before it. Required with HMACKey.
	HMACHeader string
}

// NewWebhook returns a webhook for reports that prove to come from Infobip. An
// error lists every setting that cannot be used, and never holds a secret.
func NewWebhook(o WebhookOptions) (*Webhook, error) {
	w := new(Webhook)
	var f rest.Faults
	f.Add(o.Password == "" && o.HMACKey == "", "Username and Password or HMACKey and HMACHeader are required")
	f.Add((o.Username == "") != (o.Password == ""), "only one of Username and Password is set")
	f.Add((o.HMACHeader == "") != (o.HMACKey == ""), "only one of HMACKey and HMACHeader is set")
	if err := f.Err("infobip"); err != nil {
		return nil, err
	}
	if o.Password != "" {
		w.proofs = append(w.proofs, basic(o.Username, o.Password))
	}
	if o.HMACKey != "" {
		w.proofs = append(w.proofs, signed(o.HMACKey, o.HMACHeader))
	}
	return w, nil
}

const provider = "infobip"

// Provider returns "infobip".
func (w *Webhook) Provider() string { return provider }

// Events proves the report and reads it. Infobip gives an event no id, and its
// reports no signed time: the id is made of the message's and its status, so that
// a replay is known as a repetition.
func (w *Webhook) Events(r channel.WebhookRequest) ([]channel.StatusEvent, error) {
	switch {
	case r.Method != http.MethodPost:
		return nil, rest.Refused("infobip", "method is not POST")
	case len(r.Body) > rest.MaxCallback:
		return nil, rest.Refused("infobip", "body is too long")
	case len(w.proofs) == 0:
		return nil, rest.Refused("infobip", "no credentials are configured")
	}
	for _, holds := range w.proofs {
		if !holds(r) {
			return nil, rest.Refused("infobip", "credentials or signature are missing or wrong")
		}
	}
	return read(r.Body)
}

func basic(username, password string) func(channel.WebhookRequest) bool {
	h := http.Header{}
	rest.Basic(username, password)(h)
	want := []byte(h.Get("Authorization"))
	return func(r channel.WebhookRequest) bool { return hmac.Equal([]byte(r.Header.Get("Authorization")), want) }
}

func signed(key, header string) func(channel.WebhookRequest) bool {
	return func(r channel.WebhookRequest) bool {
		mac := hmac.New(sha256.New, []byte(key))
		_, _ = mac.Write(r.Body) // a hash takes everything
		given, ok := signature(r.Header.Get(header))
		return ok && hmac.Equal(given, mac.Sum(nil))
	}
}

func signature(text string) ([]byte, bool) {
	text = strings.TrimPrefix(text, "sha256=")
	if sum, err := hex.DecodeString(text); err == nil {
		return sum, true
	}
	sum, err := base64.StdEncoding.DecodeString(text)
	return sum, err == nil
}

// report is one of a delivery report ("Receive SMS delivery reports", "Receive
// WhatsApp delivery reports") or of a seen report ("Receive WhatsApp seen
// reports").
type report struct {
	MessageID    rest.Text `json:"messageId"`
	CallbackData rest.Text `json:"callbackData"`
	Status       status    `json:"status"`
	Error        struct {
		Name rest.Text `json:"name"` // "EC_UNKNOWN_SUBSCRIBER"
	} `json:"error"`
	DoneAt rest.Text `json:"doneAt"`
	SeenAt rest.Text `json:"seenAt"`
}

func read(body []byte) ([]channel.StatusEvent, error) {
	var all struct {
		Results []report `json:"results"`
	}
	if err := rest.DecodeCallback("infobip", body, &all); err != nil {
		return nil, err
	}
	var out []channel.StatusEvent
	for _, r := range all.Results {
		out = append(out, r.events()...)
	}
	return out, nil
}

// noSubscriber is the error of a number that does not exist.
const noSubscriber = "EC_UNKNOWN_SUBSCRIBER"

// kind is what the report says; empty if nothing that is known. What the operator
// has is not on the phone yet.
func (r report) kind() channel.StatusKind {
	if r.Status.Name == "DELIVERED_TO_OPERATOR" {
		return channel.KindAccepted
	}
	return kinds[r.Status.GroupName]
}

// events are those of r: none if it says nothing about a message.
func (r report) events() []channel.StatusEvent {
	id, name := rest.ProviderID(string(r.MessageID)), rest.Code(string(r.Status.Name))
	e := channel.StatusEvent{Provider: "infobip", EventID: id + ":" + name, Kind: r.kind(), On: instant(r.DoneAt),
		MessageID: rest.MessageID(string(cmp.Or(r.CallbackData, r.MessageID))), ProviderMessageID: id}
	if r.SeenAt != "" {
		e.EventID, e.Kind, e.On = id+":SEEN", channel.KindOpened, instant(r.SeenAt)
	}
	if id == "" || e.Kind == "" || name == duplicate {
		return nil
	}
	if e.Kind != channel.KindFailed {
		return []channel.StatusEvent{e}
	}
	e.Code = cmp.Or(rest.Code(string(r.Error.Name)), name)
	if r.Error.Name != noSubscriber {
		return []channel.StatusEvent{e}
	}
	bounced := e
	bounced.EventID += ":BOUNCED"
	bounced.Kind, bounced.Lasting = channel.KindBounced, true
	return []channel.StatusEvent{e, bounced}
}

// instant reads Infobip's form of times; zero where it is none.
func instant(text rest.Text) time.Time {
	for _, layout := range []string{"2006-01-02T15:04:05.999-0700", time.RFC3339Nano} {
		if on, err := time.Parse(layout, string(text)); err == nil {
			return on.UTC()
		}
	}
	return time.Time{}
}

// status is what Infobip says of a message in answers, logs and reports.
type status struct {
	GroupName rest.Text `json:"groupName"`
	Name      rest.Text `json:"name"`
}

// The groups of statuses.
const (
	pending       = "PENDING"
	delivered     = "DELIVERED"
	undeliverable = "UNDELIVERABLE"
	expired       = "EXPIRED"
	rejected      = "REJECTED"
)

// duplicate is the status of a second message with an id. It says nothing about
// the first one, under whose id it is reported.
const duplicate = "REJECTED_DUPLICATE_MESSAGE_ID"

// destination is the status of a number to which nothing can be sent.
const destination = "REJECTED_DESTINATION"

// passing are the rejections that are not about the message.
var passing = map[rest.Text]bool{
	"REJECTED_NOT_ENOUGH_CREDITS":      true,
	"REJECTED_PREPAID_PACKAGE_EXPIRED": true,
	"REJECTED_FLOODING_FILTER":         true,
	"REJECTED_SYSTEM_ERROR":            true,
}

// sent is one message of an answer.
type sent struct {
	MessageID rest.Text `json:"messageId"`
	Status    status    `json:"status"`
	Error     struct {
		Name rest.Text `json:"name"`
	} `json:"error"`
}

var errNoMessage = errors.New("infobip: answer without a message")

// firstSent reads the answer, in which the message is either the only one of a
// list or all there is.
func firstSent(a *rest.Answer) (sent, error) {
	var body struct {
		Messages []sent `json:"messages"`
		sent
	}
	if err := a.JSON(&body); err != nil {
		return sent{}, err
	}
	if len(body.Messages) == 1 {
		return body.Messages[0], nil
	}
	if body.Status.GroupName == "" {
		return sent{}, errNoMessage
	}
	return body.sent, nil
}

// outcome is the error of an answer that has a status, or nil if it accepts.
func outcome(a *rest.Answer, m sent) error {
	s, code := m.Status, string(m.Status.Name)
	switch s.GroupName {
	case pending, delivered:
		return nil
	case rejected, undeliverable, expired:
		if s.Name == duplicate {
			return a.Unknown(code)
		}
		if passing[s.Name] {
			return a.Closed(code)
		}
		if m.Error.Name == noSubscriber {
			return a.Permanent(code).Suppressing(channel.HardBounce)
		}
		if s.GroupName == undeliverable || s.Name == destination {
			return a.Permanent(code).Blame(channel.FaultAddress)
		}
		return a.Permanent(code)
	}
	return a.Unknown(code)
}

// kinds are what the groups mean in a report.
var kinds = map[rest.Text]channel.StatusKind{
	pending:       channel.KindAccepted,
	delivered:     channel.KindDelivered,
	undeliverable: channel.KindFailed,
	expired:       channel.KindFailed,
	rejected:      channel.KindFailed,
}
