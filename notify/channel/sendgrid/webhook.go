package sendgrid

import (
	"crypto/ecdsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/channel/internal/rest"
)

var _ channel.Webhook = (*Webhook)(nil)

// The headers of a signed callback (Twilio SendGrid documentation, "Getting
// Started with the Event Webhook Security Features").
const (
	signatureHeader = "X-Twilio-Email-Event-Webhook-Signature"
	timestampHeader = "X-Twilio-Email-Event-Webhook-Timestamp"
)

// window is how far the signed time may be from now.
const window = 5 * time.Minute

// Webhook reads the callbacks of the Event Webhook. The zero value has no key
// and refuses all of them.
type Webhook struct {
	keys []*ecdsa.PublicKey
}

// NewWebhook returns a webhook for callbacks signed under any of the public
// keys, which SendGrid shows as "verification key". More than one is for the time
// in which a key is replaced, or for several subusers.
func NewWebhook(publicKeys ...string) (*Webhook, error) {
	if len(publicKeys) == 0 {
		return nil, errors.New("sendgrid: a verification key is required")
	}
	w := new(Webhook)
	for i, text := range publicKeys {
		key, err := publicKey(text)
		if err != nil {
			return nil, fmt.Errorf("sendgrid: verification key %d %w", i, err)
		}
		w.keys = append(w.keys, key)
	}
	return w, nil
}

func publicKey(text string) (*ecdsa.PublicKey, error) {
	der, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, errors.New("is not base64")
	}
	parsed, err := x509.ParsePKIXPublicKey(der)
	key, ok := parsed.(*ecdsa.PublicKey)
	if err != nil || !ok {
		return nil, errors.New("is not a public key for ECDSA")
	}
	return key, nil
}

const provider = "sendgrid"

// Provider returns "sendgrid".
func (w *Webhook) Provider() string { return provider }

// Events verifies the signature over time and body, and refuses a time that is
// more than five minutes from r.Now. An event repeats the id that SendGrid gave
// it; a bounce is two events, since the message has failed and its address too.
func (w *Webhook) Events(r channel.WebhookRequest) ([]channel.StatusEvent, error) {
	if err := w.verify(r); err != nil {
		return nil, err
	}
	return read(r.Body)
}

func (w *Webhook) verify(r channel.WebhookRequest) error {
	timestamp := r.Header.Get(timestampHeader)
	signature, err := base64.StdEncoding.DecodeString(r.Header.Get(signatureHeader))
	switch {
	case r.Method != http.MethodPost:
		return rest.Refused("sendgrid", "method is not POST")
	case len(r.Body) > rest.MaxCallback:
		return rest.Refused("sendgrid", "body is too long")
	case err != nil || !w.signed(timestamp, r.Body, signature):
		return rest.Refused("sendgrid", "signature is missing or wrong")
	}
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || time.Unix(seconds, 0).Sub(r.Now).Abs() > window {
		return rest.Refused("sendgrid", "signed more than five minutes from now")
	}
	return nil
}

func (w *Webhook) signed(timestamp string, body, signature []byte) bool {
	h := sha256.New()
	_, _ = h.Write([]byte(timestamp)) // a hash takes everything
	_, _ = h.Write(body)
	sum := h.Sum(nil)
	for _, key := range w.keys {
		if ecdsa.VerifyASN1(key, sum, signature) {
			return true
		}
	}
	return false
}

// event is one of the Event Webhook (Twilio SendGrid documentation, "Event
// Webhook Reference"). Custom arguments stand beside its own properties.
type event struct {
	Event     rest.Text `json:"event"`
	ID        rest.Text `json:"sg_event_id"`
	MessageID rest.Text `json:"sg_message_id"`
	Ours      rest.Text `json:"belfry_message"`
	Timestamp rest.Text `json:"timestamp"`
	Email     rest.Text `json:"email"`
	Type      rest.Text `json:"type"`   // of a bounce: "bounce" or "blocked"
	Status    rest.Text `json:"status"` // of a bounce: "5.1.1"
	Group     rest.Text `json:"asm_group_id"`
	Reason    rest.Text `json:"reason"` // of a bounce it quotes addresses, of a drop it is one of a few
}

func read(body []byte) ([]channel.StatusEvent, error) {
	var all []event
	if err := rest.DecodeCallback("sendgrid", body, &all); err != nil {
		return nil, err
	}
	var out []channel.StatusEvent
	for _, e := range all {
		out = append(out, e.events()...)
	}
	return out, nil
}

// kinds leaves out what says nothing about a message: account changes.
var kinds = map[rest.Text]channel.StatusKind{
	"processed":         channel.KindAccepted,
	"deferred":          channel.KindAccepted, // SendGrid goes on trying
	"delivered":         channel.KindDelivered,
	"open":              channel.KindOpened,
	"click":             channel.KindOpened,
	"dropped":           channel.KindFailed,
	"bounce":            channel.KindFailed,
	"spamreport":        channel.KindComplained,
	"unsubscribe":       channel.KindUnsubscribed,
	"group_unsubscribe": channel.KindUnsubscribed,
	"group_resubscribe": channel.KindResubscribed,
}

// events are those of e: none if it is not about a message of ours.
func (e event) events() []channel.StatusEvent {
	id, known := rest.MessageID(string(e.Ours)), rest.ProviderID(string(e.ID))
	kind := kinds[e.Event]
	if id == "" || known == "" || kind == "" {
		return nil
	}
	s := channel.StatusEvent{Provider: "sendgrid", EventID: known, Kind: kind, On: e.on(),
		MessageID: id, ProviderMessageID: e.messageID(), Code: e.code(), List: e.list(), Address: channel.PrivateAddress(e.Email)}
	fact := dropFacts[s.Code]
	switch {
	case e.Event == "bounce":
		fact = channel.KindBounced
	case e.Event != "dropped" || fact == "":
		return []channel.StatusEvent{s}
	}
	more := s
	more.EventID += ":" + strings.ToLower(string(fact))
	more.Kind = fact
	more.Lasting = fact == channel.KindBounced && (e.Event == "dropped" || e.Type == "bounce")
	return []channel.StatusEvent{s, more}
}

// list is the group of unsubscription of the mail; who unsubscribes from all leaves no
// group.
func (e event) list() string {
	if e.Event == "unsubscribe" {
		return ""
	}
	return rest.ProviderID(string(e.Group))
}

// dropFacts are what SendGrid's own list of suppressions knows of an address.
var dropFacts = map[string]channel.StatusKind{
	"unsubscribed-address":   channel.KindUnsubscribed,
	"spam-reporting-address": channel.KindComplained,
	"bounced-address":        channel.KindBounced,
	"invalid-address":        channel.KindBounced,
}

// on is zero where the time is none.
func (e event) on() time.Time {
	seconds, err := strconv.ParseInt(string(e.Timestamp), 10, 64)
	if err != nil || seconds <= 0 || seconds > 1<<33 {
		return time.Time{}
	}
	return time.Unix(seconds, 0).UTC()
}

// messageID is what Send returned: what comes before the name of the machine
// that handled the mail.
func (e event) messageID() string {
	id := string(e.MessageID)
	for _, machine := range []string{".filter", ".recvd"} {
		id, _, _ = strings.Cut(id, machine)
	}
	return rest.ProviderID(id)
}

// drops are the documented reasons of a drop.
var drops = map[rest.Text]string{
	"Invalid SMTPAPI header":                     "invalid-header",
	"Spam Content (if Spam Checker app enabled)": "spam-content",
	"Spam Content":                               "spam-content",
	"Unsubscribed Address":                       "unsubscribed-address",
	"Bounced Address":                            "bounced-address",
	"Spam Reporting Address":                     "spam-reporting-address",
	"Invalid":                                    "invalid-address",
	"Recipient List over Package Quota":          "over-quota",
}

func (e event) code() string {
	switch {
	case e.Event == "dropped" && drops[e.Reason] != "":
		return drops[e.Reason]
	case e.Event == "dropped":
		return "dropped"
	case e.Event != "bounce":
		return ""
	case rest.Code(string(e.Status)) != "":
		return rest.Code(string(e.Status))
	case e.Type == "blocked":
		return "blocked"
	}
	return "bounce"
}
