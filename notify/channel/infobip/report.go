package infobip

import (
	"cmp"
	"time"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel/internal/rest"
)

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

func read(body []byte) ([]notify.StatusEvent, error) {
	var all struct {
		Results []report `json:"results"`
	}
	if err := rest.DecodeCallback("infobip", body, &all); err != nil {
		return nil, err
	}
	var out []notify.StatusEvent
	for _, r := range all.Results {
		out = append(out, r.events()...)
	}
	return out, nil
}

// nobody is the error of a number that does not exist.
const nobody = "EC_UNKNOWN_SUBSCRIBER"

// kind is what the report says; empty if nothing that is known. What the operator
// has is not on the phone yet.
func (r report) kind() notify.StatusKind {
	if r.Status.Name == "DELIVERED_TO_OPERATOR" {
		return notify.KindAccepted
	}
	return kinds[r.Status.GroupName]
}

// events are those of r: none if it says nothing about a message.
func (r report) events() []notify.StatusEvent {
	id, name := rest.ProviderID(string(r.MessageID)), rest.Code(string(r.Status.Name))
	e := notify.StatusEvent{Provider: "infobip", EventID: id + ":" + name, Kind: r.kind(), On: instant(r.DoneAt),
		MessageID: rest.MessageID(string(cmp.Or(r.CallbackData, r.MessageID))), ProviderMessageID: id}
	if r.SeenAt != "" {
		e.EventID, e.Kind, e.On = id+":SEEN", notify.KindOpened, instant(r.SeenAt)
	}
	if id == "" || e.Kind == "" || name == duplicate {
		return nil
	}
	if e.Kind != notify.KindFailed {
		return []notify.StatusEvent{e}
	}
	e.Code = cmp.Or(rest.Code(string(r.Error.Name)), name)
	if r.Error.Name != nobody {
		return []notify.StatusEvent{e}
	}
	bounced := e
	bounced.EventID += ":BOUNCED"
	bounced.Kind, bounced.Lasting = notify.KindBounced, true
	return []notify.StatusEvent{e, bounced}
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
