package dialog360

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net/http"
	"strconv"
	"time"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/channel/internal/rest"
)

var _ channel.Webhook = (*Webhook)(nil)

// minSecret is the least length of a header's value that proves something.
const minSecret = 16

// Webhook reads the callbacks of a number's webhook. The zero value has no secret
// and refuses all of them.
type Webhook struct {
	header string
	hashes [][sha256.Size]byte // of the values, so that no printed webhook shows one
}

// NewWebhook returns a webhook for callbacks whose header of that name has any of
// the values, which are set with 360dialog beside the webhook's address. More than
// one is for the time in which a value is replaced. Each has at least 16
// characters. An error lists what cannot be used, and never holds a value.
func NewWebhook(header string, values ...string) (*Webhook, error) {
	var f rest.Faults
	f.Secret("header", header)
	f.Add(len(values) == 0, "a value of the header is required")
	w := &Webhook{header: header}
	for i, v := range values {
		f.Add(len(v) < minSecret, "value "+strconv.Itoa(i+1)+" of the header has fewer than 16 characters")
		w.hashes = append(w.hashes, sha256.Sum256([]byte(v)))
	}
	if err := f.Err("dialog360"); err != nil {
		return nil, err
	}
	return w, nil
}

// BasicAuth is the value of the header "Authorization" for HTTP Basic
// authentication, to be set with 360dialog and given to [NewWebhook].
func BasicAuth(user, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}

const provider = "dialog360"

// Provider returns "dialog360".
func (w *Webhook) Provider() string { return provider }

// Events compares the header and reads the statuses: sent, delivered, read and
// failed. Incoming messages are left out, and so are messages that other programs
// sent under an id of their own.
func (w *Webhook) Events(r channel.WebhookRequest) ([]channel.StatusEvent, error) {
	switch {
	case r.Method != http.MethodPost:
		return nil, rest.Refused("dialog360", "method is not POST")
	case len(r.Body) > rest.MaxCallback:
		return nil, rest.Refused("dialog360", "body is too long")
	case !w.proved(r.Header):
		return nil, rest.Refused("dialog360", "secret header is missing or wrong")
	}
	return read(r.Body)
}

// proved compares hashes, in a time that does not tell how much was right.
func (w *Webhook) proved(h http.Header) bool {
	got := h.Values(w.header)
	if len(got) != 1 {
		return false
	}
	sum, right := sha256.Sum256([]byte(got[0])), 0
	for _, want := range w.hashes {
		right |= subtle.ConstantTimeCompare(sum[:], want[:])
	}
	return right == 1
}

// These are a callback, as far as it is read (WhatsApp Business Platform, "Status
// messages webhook reference").
type (
	callback struct {
		Entry []struct {
			Changes []struct {
				Value struct {
					Statuses []status `json:"statuses"`
				} `json:"value"`
			} `json:"changes"`
		} `json:"entry"`
	}
	status struct {
		ID        rest.Text `json:"id"`
		Status    rest.Text `json:"status"`
		Timestamp rest.Text `json:"timestamp"` // seconds since 1970
		Ours      rest.Text `json:"biz_opaque_callback_data"`
		Errors    []struct {
			Code rest.Text `json:"code"`
		} `json:"errors"`
	}
)

func read(body []byte) ([]channel.StatusEvent, error) {
	var c callback
	if err := rest.DecodeCallback("dialog360", body, &c); err != nil {
		return nil, err
	}
	var out []channel.StatusEvent
	for _, e := range c.Entry {
		for _, change := range e.Changes {
			for _, s := range change.Value.Statuses {
				out = append(out, s.events()...)
			}
		}
	}
	return out, nil
}

var kinds = map[rest.Text]channel.StatusKind{
	"sent":      channel.KindAccepted,
	"delivered": channel.KindDelivered,
	"read":      channel.KindOpened,
	"played":    channel.KindOpened,
	"failed":    channel.KindFailed,
}

// optedOut is the code of a recipient who wants no more marketing messages.
const optedOut = "131050"

// events are those of s: none if it says nothing about a message of ours. A
// status has no id of its own; what the message is and what became of it do not
// change between two deliveries.
func (s status) events() []channel.StatusEvent {
	theirs, kind := rest.ProviderID(string(s.ID)), kinds[s.Status]
	ours := rest.MessageID(string(s.Ours))
	if theirs == "" || kind == "" || ours == "" && s.Ours != "" {
		return nil
	}
	e := channel.StatusEvent{Provider: "dialog360", EventID: theirs + ":" + string(s.Status), Kind: kind, On: s.on(),
		MessageID: ours, ProviderMessageID: theirs, Code: s.code()}
	if e.Code != optedOut {
		return []channel.StatusEvent{e}
	}
	out := e
	out.EventID, out.Kind = theirs+":unsubscribed", channel.KindUnsubscribed
	return []channel.StatusEvent{e, out}
}

// on is zero where the time is none.
func (s status) on() time.Time {
	seconds, err := strconv.ParseInt(string(s.Timestamp), 10, 64)
	if err != nil || seconds <= 0 || seconds > 1<<33 {
		return time.Time{}
	}
	return time.Unix(seconds, 0).UTC()
}

func (s status) code() string {
	if len(s.Errors) == 0 {
		return ""
	}
	return rest.Code(string(s.Errors[0].Code))
}
