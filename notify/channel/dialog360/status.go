package dialog360

import (
	"strconv"
	"time"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel/internal/rest"
)

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

func read(body []byte) ([]notify.StatusEvent, error) {
	var c callback
	if err := rest.DecodeCallback("dialog360", body, &c); err != nil {
		return nil, err
	}
	var out []notify.StatusEvent
	for _, e := range c.Entry {
		for _, change := range e.Changes {
			for _, s := range change.Value.Statuses {
				out = append(out, s.events()...)
			}
		}
	}
	return out, nil
}

var kinds = map[rest.Text]notify.StatusKind{
	"sent":      notify.KindAccepted,
	"delivered": notify.KindDelivered,
	"read":      notify.KindOpened,
	"played":    notify.KindOpened,
	"failed":    notify.KindFailed,
}

// optedOut is the code of a recipient who wants no more marketing messages.
const optedOut = "131050"

// events are those of s: none if it says nothing about a message of ours. A
// status has no id of its own; what the message is and what became of it do not
// change between two deliveries.
func (s status) events() []notify.StatusEvent {
	theirs, kind := rest.ProviderID(string(s.ID)), kinds[s.Status]
	ours := rest.MessageID(string(s.Ours))
	if theirs == "" || kind == "" || ours == "" && s.Ours != "" {
		return nil
	}
	e := notify.StatusEvent{Provider: "dialog360", EventID: theirs + ":" + string(s.Status), Kind: kind, On: s.on(),
		MessageID: ours, ProviderMessageID: theirs, Code: s.code()}
	if e.Code != optedOut {
		return []notify.StatusEvent{e}
	}
	out := e
	out.EventID, out.Kind = theirs+":unsubscribed", notify.KindUnsubscribed
	return []notify.StatusEvent{e, out}
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
