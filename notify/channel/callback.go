package channel

import (
	"errors"
	"net/http"
	"time"
)

// StatusEvent is what a provider's callback says about one message. Events may
// come in any order and any number of times (Communication - System
// architecture, "OutgoingMessage + send claim").
type StatusEvent struct {
	// Provider and EventID are the identity of the event, by which a repeated
	// delivery is known: the name of the [Webhook] and the provider's own id of the
	// event. Where the provider gives none, it is made of what does not change
	// between two deliveries of one event.
	Provider, EventID string
	// Account is the tenant whose own account the provider reports about; empty: an account
	// that tenants share. The code that mounts the webhook sets it, not the webhook.
	Account string
	Kind    StatusKind
	// On is the provider's time of the event; zero means that it does not say.
	On time.Time
	// MessageID is the [Message].ID, where the provider gives it back;
	// ProviderMessageID is what its [Receipt] said. One of them is required, but of a
	// KindResubscribed that names the Method and the Address.
	MessageID, ProviderMessageID string
	// Code is the provider's short code of a failure. It is stored and logged, so
	// it never holds an address.
	Code string
	// Lasting says of a bounce that the address does not exist, so that nothing is
	// sent to it again.
	Lasting bool
	// List is the provider's list that the recipient has left or come back to, such as a
	// group or a stream; empty: all that the account sends.
	List string
	// Address is the mail address that it is about, where the provider says so: of a
	// mail with copies each has events of its own. Only a hash of it is kept. Method is the
	// delivery method of another address.
	Address PrivateAddress
	Method  string
	// AddressOnly says that nothing of it is about the message's recipient unless Address is
	// theirs, but about who got a copy, or to whom they forward their mail. The recipient
	// may have written it: it suppresses only addresses that the message went to.
	AddressOnly bool
}

// PrivateAddress is an address that is not printed.
type PrivateAddress string

func (PrivateAddress) String() string { return "(address)" }

// GoString is String.
func (a PrivateAddress) GoString() string { return a.String() }

// StatusKind says what happened to a message.
type StatusKind string

// The kinds of status events. A message only moves up: Accepted, Failed,
// Delivered, Opened. The others are facts beside its status.
const (
	KindAccepted     StatusKind = "Accepted"     // the provider has it
	KindFailed       StatusKind = "Failed"       // the provider gave up, or dropped it
	KindDelivered    StatusKind = "Delivered"    // it is in the recipient's mailbox or on the phone
	KindOpened       StatusKind = "Opened"       // a person or a mail scanner opened it
	KindBounced      StatusKind = "Bounced"      // it came back; see Lasting
	KindComplained   StatusKind = "Complained"   // the recipient called it spam
	KindUnsubscribed StatusKind = "Unsubscribed" // the recipient wants no more of them
	// KindResubscribed: the recipient wants them again, and says so to the provider. It lifts
	// what an earlier KindUnsubscribed of the same account and List suppressed, and nothing
	// else.
	KindResubscribed StatusKind = "Resubscribed"
)

// Webhook understands the callbacks of one provider. Its methods may be called
// from any number of goroutines.
type Webhook interface {
	// Provider names it: "sendgrid". It never changes.
	Provider() string
	// Events proves that the provider has sent the request, on its raw bytes, and
	// then reads its events; what is not about a message's status is left out.
	// Without a proof it returns [ErrWebhookRefused] and no events, also where no
	// key is configured; [ErrWebhookLater] says that the proof cannot be checked now.
	Events(r WebhookRequest) ([]StatusEvent, error)
}

// WebhookRequest is a callback as it came in.
type WebhookRequest struct {
	Method string
	// URL is the address that the provider called, as it knows it: behind a proxy
	// not the one that this process sees. Some providers sign it.
	URL    string
	Header http.Header
	Body   []byte // raw
	Now    time.Time
}

// ErrWebhookRefused is a callback that does not prove where it comes from, or is
// too old to be fresh.
var ErrWebhookRefused = errors.New("channel: webhook refused")

// ErrWebhookLater is a callback whose proof cannot be checked now: the provider is asked to
// repeat it.
var ErrWebhookLater = errors.New("channel: webhook cannot be checked now")
