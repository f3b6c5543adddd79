package survey

import (
	"cmp"
	"context"
	"strconv"
	"time"

	"github.com/belfry-go/belfry/internal/owned"
	"github.com/belfry-go/belfry/internal/storable"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// Delivery is one entry in the log of an instance's sends (Triggers & Scheduler,
// "DeliveryLogJson").
type Delivery struct {
	PublicID string // of the instance
	Channel  string
	// Status is what came of it, one of the Delivery… constants.
	Status string
	// Attempt counts the calls of the channel; 0 for an entry without a call.
	Attempt int
	// Ordinal is 0 for the initial send, 1 and up for the reminders.
	Ordinal           int
	StartedOn         time.Time // zero without a call
	On                time.Time
	ProviderMessageID string
	ReasonCode        string
}

// deliveryRow has the columns of a [Delivery]. It is written once and never due. Its
// Key is the instance's PublicID and what it says, its Kind the channel.
type deliveryRow struct {
	storage.Record
	PublicID          string    `db:"public_id,fixed,indexed,plain"`
	Attempt           int       `db:"attempt,fixed"`
	Ordinal           int       `db:"ordinal,fixed"`
	StartedOn         time.Time `db:"started_on,fixed"`
	On                time.Time `db:"at,fixed"`
	ProviderMessageID string    `db:"provider_message_id,fixed,plain"`
	ReasonCode        string    `db:"reason_code,fixed,plain"`
}

// What came of a send.
const (
	DeliveryDelivered = "delivered" // the channel has accepted it
	DeliveryFailed    = "failed"    // not accepted, or its message could not be made; it is tried again, or the schedule stops
	DeliveryRefused   = "refused"   // refused for good: the schedule stops
	DeliveryUnknown   = "unknown"   // it is unknown whether it was sent
	DeliverySkipped   = "skipped"   // a gate does not let it out: the schedule stops
)

var deliveries = driver.Define[deliveryRow]("survey_delivery").Grows(driver.WithWork).
	Kept("Retention.Surveys", "the log of the sends of an instance")

func (d *deliveryRow) view() Delivery {
	return Delivery{
		PublicID: d.PublicID, Channel: d.Kind, Status: d.Status, Attempt: d.Attempt, Ordinal: d.Ordinal,
		StartedOn: d.StartedOn, On: d.On, ProviderMessageID: d.ProviderMessageID, ReasonCode: d.ReasonCode,
	}
}

func viewsOf(rows []*deliveryRow) []Delivery {
	out := make([]Delivery, len(rows))
	for i, d := range rows {
		out[i] = d.view()
	}
	return out
}

// logMessage notes what became of a message, as often as it is told: an entry has a key of
// what it says.
func (i *instanceRow) logMessage(now time.Time, m *owned.Message) {
	publicID, send, ordinal := sendOf(m)
	note := func(status string, calls int, reason string) {
		i.Log = append(i.Log, &deliveryRow{
			Record:   storage.Record{Scope: i.Scope, Key: publicID + ":" + send + ":" + strconv.Itoa(calls) + ":" + status, Kind: m.Channel, Status: status},
			PublicID: publicID, Ordinal: ordinal, Attempt: calls, StartedOn: m.CallStartedOn, On: now, ReasonCode: reason,
		})
	}
	switch {
	case m.Sent && m.Assumed:
	case m.Sent:
		note(DeliveryDelivered, m.Calls, "")
		i.Log[len(i.Log)-1].ProviderMessageID = storable.Code(m.ProviderMessageID)
	case m.InDoubt:
		note(DeliveryUnknown, m.Calls, cmp.Or(m.ReasonCode, reasons.InDoubt))
	case m.Status == notify.StatusFailedFinal:
		note(DeliveryRefused, m.Calls, m.ReasonCode)
	case m.Status == notify.StatusSkipped && m.ReasonCode != reasons.LinkOver:
		note(DeliverySkipped, 0, m.ReasonCode)
	case m.Waits && (m.Calls > i.Calls && !m.Claimed(now) || m.ReasonCode == reasons.Absent):
		note(DeliveryFailed, m.Calls, m.ReasonCode)
	}
}

// logNoCall notes why no message was made.
func (i *instanceRow) logNoCall(now time.Time, status, reason string) {
	i.Log = append(i.Log, &deliveryRow{
		Record:   storage.Record{Scope: i.Scope, Kind: i.Channel, Status: status},
		PublicID: i.PublicID, Ordinal: i.SendOrdinal, On: now, ReasonCode: reason,
	})
}

// writeLog adds the entries of rows that are saved, in their transaction, and notes who was
// asked.
func writeLog(ctx context.Context, tx storage.Tx, rows []*instanceRow) error {
	var log []*deliveryRow
	for _, r := range rows {
		for n, e := range r.Log {
			e := *e // the transaction may run again
			if e.Key == "" {
				e.Key = r.PublicID + ":" + strconv.FormatInt(r.Version, 10) + ":" + strconv.Itoa(n)
			}
			log = append(log, &e)
		}
	}
	if _, err := deliveries.Insert(ctx, tx, log...); err != nil {
		return err
	}
	return noteAsked(ctx, tx, rows...)
}
