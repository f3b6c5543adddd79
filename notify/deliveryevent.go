package notify

import (
	"cmp"
	"encoding/hex"
	"errors"
	"time"

	"github.com/belfry-go/belfry/internal/storable"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage"
)

// deliveryEvent is an event of a provider as it is kept: the memory by which a
// repeated one is known, and a due row while its message is not known. Its Type is
// the provider. Its Scope is empty, since an event belongs to no tenant until its
// message is found; the message says the tenant.
type deliveryEvent struct {
	storage.Record
	Kind              StatusKind `db:"kind,fixed"`
	MessageID         string     `db:"message_id,fixed"`
	ProviderMessageID string     `db:"provider_message_id,fixed"`
	Code              string     `db:"code,fixed"`
	Lasting           bool       `db:"lasting,fixed"`
	On                time.Time  `db:"happened_on,fixed"`
	ReceivedOn        time.Time  `db:"received_on,fixed"`
	Tries             int        `db:"tries"` // how often its message was looked for in vain
}

var deliveryEvents = storage.Define[deliveryEvent]("delivery_event")

// matchWaits are the pauses before an event's message is looked for again.
var matchWaits = [...]time.Duration{time.Minute, 5 * time.Minute, time.Hour, 24 * time.Hour}

// ErrStatusEvent is a [StatusEvent] that says too little to be used.
var ErrStatusEvent = errors.New("notify: not a status event")

// check tells what is missing. The text holds no data.
func (e StatusEvent) check() error {
	switch {
	case checkProvider(e.Provider) != nil:
		return checkProvider(e.Provider)
	case e.EventID == "":
		return errors.New("it has no EventID")
	case statusOf[e.Kind] == "":
		return errors.New("its Kind is unknown")
	case e.MessageID == "" && e.ProviderMessageID == "":
		return errors.New("it has neither MessageID nor ProviderMessageID")
	case e.MessageID != storable.Code(e.MessageID) || e.ProviderMessageID != storable.Code(e.ProviderMessageID):
		return errors.New("an id is longer than 200 bytes or holds control characters")
	}
	return nil
}

var errProvider = errors.New("a provider's name is lower-case letters, digits and '-', at most 40")

// checkProvider keeps names apart from what keys are joined with, and from data
// in metrics and paths.
func checkProvider(name string) error {
	if name == "" || len(name) > 40 {
		return errProvider
	}
	for _, r := range name {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' {
			return errProvider
		}
	}
	return nil
}

// row makes the stored form of an event that has passed its check.
func (e StatusEvent) row(now time.Time) (*deliveryEvent, error) {
	key, err := keys.Join(e.Provider, hashOf("belfry-event-1", e.EventID))
	if err != nil {
		return nil, err
	}
	on := cmp.Or(storage.Time(e.On), now)
	if on.After(now) || on.Year() < 2000 {
		on = now // a clock that is not to be believed
	}
	return &deliveryEvent{
		Record: storage.Record{Key: key, Type: e.Provider, Status: StatusWaiting, DueOn: now.Add(matchWaits[0])},
		Kind:   e.Kind, MessageID: e.MessageID, ProviderMessageID: e.ProviderMessageID,
		Code: storable.Code(e.Code), Lasting: e.Lasting, On: on, ReceivedOn: now,
	}, nil
}

// hashOf makes a key of any text of a provider, whatever its length and signs.
func hashOf(format, text string) string {
	sum := keys.Sum(format, text)
	return hex.EncodeToString(sum[:20])
}

func (e *deliveryEvent) become(status string) {
	eventStates.Must(e.Status, status)
	e.Status = status
}

// matched is an event whose message is known.
func (e *deliveryEvent) matched() {
	e.become(StatusMatched)
	e.DueOn = time.Time{}
}

// unmatched waits for the message to appear, or gives up.
func (e *deliveryEvent) unmatched(now time.Time) {
	e.Tries++
	if e.Tries < len(matchWaits) {
		e.DueOn = now.Add(matchWaits[e.Tries])
		return
	}
	e.become(StatusOrphan)
	e.DueOn = time.Time{}
}
