package survey

import (
	"time"

	"github.com/belfry-go/belfry/storage"
)

// Delivery is one entry in the log of an instance's sends (Triggers & Scheduler,
// "DeliveryLogJson"): written once, never due. Its Key is the instance's PublicID
// and the version that the instance was saved with, its Type the channel, its
// Status what came of it.
type Delivery struct {
	storage.Record
	PublicID string `db:"public_id,fixed"`
	// Attempt counts the calls of the channel; 0 for an entry without a call.
	Attempt int `db:"attempt,fixed"`
	// Ordinal is 0 for the initial send, 1 and up for the reminders.
	Ordinal           int       `db:"ordinal,fixed"`
	StartedOn         time.Time `db:"started_on,fixed"` // zero without a call
	On                time.Time `db:"at,fixed"`
	ProviderMessageID string    `db:"provider_message_id,fixed"`
	ReasonCode        string    `db:"reason_code,fixed"`
}

// What came of a send.
const (
	DeliveryDelivered = "delivered"  // the channel has accepted it
	DeliveryFailed    = "failed"     // not accepted, or not even tried; it is tried again, or the schedule stops
	DeliveryRefused   = "refused"    // refused for good: the schedule stops
	DeliveryUnknown   = "unknown"    // nobody knows whether it was sent
	DeliverySkipped   = "skipped"    // a gate does not let it out: the schedule stops
	DeliveryNoChannel = "no-channel" // nobody has the channel: the schedule stops
)

var deliveries = storage.Define[Delivery]("survey_delivery")
