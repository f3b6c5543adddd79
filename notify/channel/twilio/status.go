package twilio

import (
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel/internal/rest"
)

// idParam is the query of the callback's URL in which the message id travels.
const idParam = "belfry_message"

// status is what a callback says (Twilio documentation, "Track the Message Status
// of Outbound Messages").
type status struct {
	SID    rest.Text `json:"MessageSid"`
	Status rest.Text `json:"MessageStatus"`
	Code   rest.Text `json:"ErrorCode"`
}

// kinds leaves out what is about incoming messages.
var kinds = map[rest.Text]notify.StatusKind{
	"accepted":    notify.KindAccepted,
	"scheduled":   notify.KindAccepted,
	"queued":      notify.KindAccepted,
	"sending":     notify.KindAccepted,
	"sent":        notify.KindAccepted, // the carrier has it
	"delivered":   notify.KindDelivered,
	"read":        notify.KindOpened,
	"undelivered": notify.KindFailed,
	"failed":      notify.KindFailed,
	"canceled":    notify.KindFailed,
}

// facts are the codes of a failure that say something about the number too.
var facts = map[rest.Text]notify.StatusKind{
	"21610": notify.KindUnsubscribed, // the recipient has sent STOP
	"30005": notify.KindBounced,      // the number does not exist, or no more
}

// events are those of s: none if it is not about a message that was sent.
func (s status) events(id string) []notify.StatusEvent {
	sid, kind := string(s.SID), kinds[s.Status]
	if !messageSID.MatchString(sid) || kind == "" {
		return nil
	}
	e := notify.StatusEvent{Provider: "twilio", EventID: sid + ":" + string(s.Status), Kind: kind,
		MessageID: rest.MessageID(id), ProviderMessageID: sid}
	if kind != notify.KindFailed {
		return []notify.StatusEvent{e}
	}
	e.Code = rest.Code(string(s.Code))
	fact := facts[s.Code]
	if fact == "" {
		return []notify.StatusEvent{e}
	}
	more := e
	more.EventID += ":" + e.Code
	more.Kind, more.Lasting = fact, fact == notify.KindBounced
	return []notify.StatusEvent{e, more}
}
