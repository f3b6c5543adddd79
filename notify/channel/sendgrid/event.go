package sendgrid

import (
	"strconv"
	"strings"
	"time"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel/internal/rest"
)

// event is one of the Event Webhook (Twilio SendGrid documentation, "Event
// Webhook Reference"). Custom arguments stand beside its own properties.
type event struct {
	Event     rest.Text `json:"event"`
	ID        rest.Text `json:"sg_event_id"`
	MessageID rest.Text `json:"sg_message_id"`
	Ours      rest.Text `json:"belfry_message"`
	Timestamp rest.Text `json:"timestamp"`
	Type      rest.Text `json:"type"`   // of a bounce: "bounce" or "blocked"
	Status    rest.Text `json:"status"` // of a bounce: "5.1.1"
	Reason    rest.Text `json:"reason"` // of a bounce it quotes addresses, of a drop it is one of a few
}

func read(body []byte) ([]notify.StatusEvent, error) {
	var all []event
	if err := rest.DecodeCallback("sendgrid", body, &all); err != nil {
		return nil, err
	}
	var out []notify.StatusEvent
	for _, e := range all {
		out = append(out, e.events()...)
	}
	return out, nil
}

// kinds leaves out what says nothing about a message: group_resubscribe and
// account changes.
var kinds = map[rest.Text]notify.StatusKind{
	"processed":         notify.KindAccepted,
	"deferred":          notify.KindAccepted, // SendGrid goes on trying
	"delivered":         notify.KindDelivered,
	"open":              notify.KindOpened,
	"click":             notify.KindOpened,
	"dropped":           notify.KindFailed,
	"bounce":            notify.KindFailed,
	"spamreport":        notify.KindComplained,
	"unsubscribe":       notify.KindUnsubscribed,
	"group_unsubscribe": notify.KindUnsubscribed,
}

// events are those of e: none if it is not about a message of ours.
func (e event) events() []notify.StatusEvent {
	id, known := rest.MessageID(string(e.Ours)), rest.ProviderID(string(e.ID))
	kind := kinds[e.Event]
	if id == "" || known == "" || kind == "" {
		return nil
	}
	s := notify.StatusEvent{Provider: "sendgrid", EventID: known, Kind: kind, On: e.on(),
		MessageID: id, ProviderMessageID: e.messageID(), Code: e.code()}
	if e.Event != "bounce" {
		return []notify.StatusEvent{s}
	}
	bounced := s
	bounced.EventID += ":bounced"
	bounced.Kind, bounced.Lasting = notify.KindBounced, e.Type == "bounce"
	return []notify.StatusEvent{s, bounced}
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
