package survey

import (
	"encoding/json"
	"time"

	"github.com/belfry-go/belfry/internal/backoff"
	"github.com/belfry-go/belfry/internal/states"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/survey/form"
)

// Instance is one link that is offered to one customer (Triggers & Scheduler, "The
// SurveyInstance row").
type Instance struct {
	Scope Scope
	// Key is derived from its survey, its trigger and UniqueHash, so that an event
	// that is told twice has one.
	Key string
	// PublicID is a random UUID for correlation; it opens nothing.
	PublicID string
	// LinkKey is the id of the key that the link's token is made with.
	LinkKey string
	// Status is one of the Status… constants.
	Status string
	// DueOn is when a poller looks at it next; zero: never.
	DueOn time.Time

	SurveyID int64
	// SurveyVersion is the number of the version that the instance is pinned to.
	SurveyVersion int64
	BusinessUnit  string
	TriggerID     string
	// TriggeredOn is the moment of the event, TriggeredBy "event:" and its kind.
	TriggeredOn time.Time
	TriggeredBy string
	// Metadata is the payload of the event as it came.
	Metadata    json.RawMessage
	CustomerRef string
	// Channel is the key of the channel at the time of the event.
	Channel          string
	RecipientAddress string
	RecipientLocale  string
	RecipientZone    string // an IANA name; empty: not known
	// UniqueHash is the lower-case hex of the recipe's SHA-256.
	UniqueHash string
	// ContactGroup is that of the trigger's contact rule.
	ContactGroup string
	CreatedOn    time.Time

	// NextSendOn is when the next send is due by the schedule; zero: no more.
	NextSendOn time.Time
	// NextTryOn is when a send that failed, that is in doubt, or that a gate told to wait, is
	// looked at again; zero: nothing holds the present one up.
	NextTryOn  time.Time
	LastSentOn time.Time
	// RemindersRemaining counts the reminders that are not scheduled yet.
	RemindersRemaining int
	// SendOrdinal says what the next send is: 0 the initial one, 1 and up the
	// reminders.
	SendOrdinal int
	// Calls counts the calls of the channel that have ended, Tries the failed ones
	// of the present ordinal.
	Calls int
	Tries int
	// InDoubt says that it is unknown whether the call that began on CallStartedOn sent the
	// link.
	InDoubt       bool
	CallStartedOn time.Time
	// StoppedOn is when the schedule ended, for whatever reason.
	StoppedOn time.Time
	// ExpiresOn is the absolute limit; zero: none.
	ExpiresOn time.Time

	OpenedOn    time.Time
	CompletedOn time.Time
	EndedOn     time.Time // completed, expired or skipped
	DeletedOn   time.Time // by support; the row stays, so that its event makes no new one

	// ReasonCode says why the last send failed or the schedule stopped.
	ReasonCode      string
	IsOnSupportHold bool
	// ForgottenOn is when all but the key and the state was forgotten; zero: it was not.
	ForgottenOn time.Time
}

// instanceRow has the columns of an [Instance]. Its Kind is sendKind while it is due for a
// send, so that only a process that sends claims it, and else empty, so that any process
// expires it.
type instanceRow struct {
	driver.Due
	driver.Tombstone
	PublicID string `db:"public_id,fixed,indexed,plain"`
	LinkKey  string `db:"link_key,fixed,plain"`
	// LinkHash is what a token is looked up by.
	LinkHash string `db:"link_hash,fixed,indexed,secret"`

	SurveyID         int64           `db:"survey_id,fixed"`
	SurveyVersion    int64           `db:"survey_version,fixed"`
	BusinessUnit     string          `db:"business_unit,fixed,plain"`
	TriggerID        string          `db:"trigger_id,fixed,plain"`
	TriggeredOn      time.Time       `db:"triggered_on,fixed"`
	TriggeredBy      string          `db:"triggered_by,fixed,plain"`
	Metadata         json.RawMessage `db:"metadata,fixed,json,content"`
	CustomerRef      string          `db:"customer_ref,fixed,indexed,person"`
	Channel          string          `db:"channel,fixed,plain"`
	RecipientAddress string          `db:"recipient_address,fixed,address"`
	RecipientLocale  string          `db:"recipient_locale,fixed,person"`
	RecipientZone    string          `db:"recipient_zone,fixed,person"`
	// RecipientHash is of the address, in any spelling, where there is no CustomerRef.
	RecipientHash string    `db:"recipient_hash,fixed,null,indexed,person"`
	UniqueHash    string    `db:"unique_hash,fixed,plain"`
	ContactGroup  string    `db:"contact_group,fixed,plain"`
	CreatedOn     time.Time `db:"created_on,fixed"`

	NextSendOn         time.Time `db:"next_send_on"`
	NextTryOn          time.Time `db:"next_try_on"`
	LastSentOn         time.Time `db:"last_sent_on"`
	RemindersRemaining int       `db:"reminders_remaining"`
	SendOrdinal        int       `db:"send_ordinal"`
	Calls              int       `db:"calls"`
	Tries              int       `db:"tries"`
	CallStartedOn      time.Time `db:"call_started_on"`
	InDoubt            bool      `db:"in_doubt"`
	Queued             bool      `db:"queued"`              // its present send is a message that has not ended
	Attempts           int       `db:"attempts"`            // messages that were made for the present send
	FirstMessage       string    `db:"first_message,plain"` // the MessageID of the initial send
	StoppedOn          time.Time `db:"stopped_on"`
	ExpiresOn          time.Time `db:"expires_on"`

	OpenedOn    time.Time `db:"opened_on"`
	CompletedOn time.Time `db:"completed_on"`
	EndedOn     time.Time `db:"ended_on"`
	DeletedOn   time.Time `db:"deleted_on"`
	// RepeatKey is, of an anonymous response, its IdempotencyKey (hashed), by which a repeat is known
	// without the response.
	RepeatKey string `db:"repeat_key,plain"`

	ReasonCode      string `db:"reason_code,plain"`
	IsOnSupportHold bool   `db:"is_on_support_hold"`

	// Making says that the row is saved with a message that is made for it; no column.
	Making bool
	// Log has the entries that the row is saved with; no column.
	Log []*deliveryRow
	// Asked says that the row is saved with its first send, Seen that its form was shown before
	// the response that it is saved with, Of its version, which is nil if it cannot be read; no
	// columns.
	Asked, Seen bool
	Of          *version
}

var instances = driver.Define[instanceRow]("survey_instance").Grows(driver.WithWork).
	Kept("Retention.Surveys", "a stub stays, so that the same event makes no second link").Limit(form.MaxMetadata + 8<<10).Deciding("public_id")

func (i *instanceRow) view() Instance {
	return Instance{
		Scope: i.Scope, Key: i.Key, PublicID: i.PublicID, LinkKey: i.LinkKey, Status: i.Status, DueOn: i.DueOn,
		SurveyID: i.SurveyID, SurveyVersion: i.SurveyVersion, BusinessUnit: i.BusinessUnit, TriggerID: i.TriggerID,
		TriggeredOn: i.TriggeredOn, TriggeredBy: i.TriggeredBy, Metadata: i.Metadata, CustomerRef: i.CustomerRef,
		Channel: i.Channel, RecipientAddress: i.RecipientAddress, RecipientLocale: i.RecipientLocale, RecipientZone: i.RecipientZone,
		UniqueHash: i.UniqueHash, ContactGroup: i.ContactGroup, CreatedOn: i.CreatedOn,
		NextSendOn: i.NextSendOn, NextTryOn: i.NextTryOn, LastSentOn: i.LastSentOn,
		RemindersRemaining: i.RemindersRemaining, SendOrdinal: i.SendOrdinal, Calls: i.Calls, Tries: i.Tries,
		CallStartedOn: i.CallStartedOn, InDoubt: i.InDoubt, StoppedOn: i.StoppedOn, ExpiresOn: i.ExpiresOn,
		OpenedOn: i.OpenedOn, CompletedOn: i.CompletedOn, EndedOn: i.EndedOn, DeletedOn: i.DeletedOn,
		ReasonCode: i.ReasonCode, IsOnSupportHold: i.IsOnSupportHold, ForgottenOn: i.ForgottenOn,
	}
}

// The states of an [Instance] (Triggers & Scheduler, "SurveyInstance state
// machine"). A claim does not change them: the lease alone says that it is held.
const (
	StatusPending   = "Pending"   // created, not sent yet
	StatusSent      = "Sent"      // at least one send succeeded
	StatusOpened    = "Opened"    // the customer's browser has shown the form
	StatusCompleted = "Completed" // the customer has submitted a response
	StatusExpired   = "Expired"   // the time for a response is over
	StatusSkipped   = "Skipped"   // the trigger's contact rule does not let it be sent
)

// active are the states in which an instance may be sent, opened and answered.
var active = []string{StatusPending, StatusSent, StatusOpened}

var machine = states.Machine{
	Name:  "SurveyInstance",
	Start: []string{StatusPending, StatusSkipped, StatusSent}, // Sent: the host delivers it
	Edges: []states.Edge{
		{From: StatusPending, To: StatusSent, Event: "the initial send is accepted, or taken for it"},
		{From: StatusPending, To: StatusOpened, Event: "the form was shown before the send was settled"},
		{From: StatusSent, To: StatusOpened, Event: "the form was shown"},
		{From: StatusPending, To: StatusCompleted, Event: "submitted before the send was settled, or by the host"},
		{From: StatusSent, To: StatusCompleted, Event: "submitted"},
		{From: StatusOpened, To: StatusCompleted, Event: "submitted"},
		{From: StatusPending, To: StatusExpired, Event: "never sent: the sends have stopped or were never reached, and the grace is over"},
		{From: StatusPending, To: StatusSkipped, Event: "the customer was asked by another link within the trigger's notAskedWithin"},
		{From: StatusSent, To: StatusExpired, Event: "no response, and the grace or the absolute limit is over"},
		{From: StatusOpened, To: StatusExpired, Event: "no response, and the grace is over"},
	},
	Terminal: []string{StatusCompleted, StatusExpired, StatusSkipped},
}

// waits are the pauses after failed tries to make the message of one send; after one failure
// more the schedule stops.
var waits = backoff.Steps{5 * time.Minute, 15 * time.Minute, time.Hour, 6 * time.Hour, 24 * time.Hour}

func (i *instanceRow) become(status string) {
	machine.Must(i.Status, status)
	i.Status = status
}

// sent advances the schedule behind a send that was made, or is taken for made.
func (i *instanceRow) sent(on time.Time, reminders []form.Duration) {
	if i.Status == StatusPending {
		i.become(StatusSent)
	}
	i.Asked = i.Asked || i.LastSentOn.IsZero()
	i.LastSentOn = on
	i.SendOrdinal++
	i.settleCall()
	i.Tries, i.Attempts = 0, 0
	i.IsOnSupportHold = false
	if i.NextSendOn.IsZero() { // support has stopped it
		return
	}
	i.ReasonCode = ""
	i.NextSendOn, i.RemindersRemaining = advance(reminders, i.RemindersRemaining, on)
	if i.NextSendOn.IsZero() {
		i.StoppedOn = on
	}
}

// handed is a new link that the host delivers: all its sends are made.
func (i *instanceRow) handed(now time.Time, v *version) {
	i.Status, i.Asked, i.Of = StatusSent, true, v
	i.LastSentOn, i.SendOrdinal, i.StoppedOn = now, 1, now
	i.NextSendOn = time.Time{}
}

// skip ends a link that is not to be sent at all.
func (i *instanceRow) skip(now time.Time, reason string) {
	i.become(StatusSkipped)
	i.settleCall()
	i.NextSendOn, i.StoppedOn, i.EndedOn, i.ReasonCode = time.Time{}, now, now, reason
}

// settleCall is the end of the message of the present send, and of whatever held it up.
func (i *instanceRow) settleCall() {
	i.CallStartedOn, i.InDoubt, i.NextTryOn, i.Queued = time.Time{}, false, time.Time{}, false
}

// failed is a message that could not be made: another try after a pause; the last one stops
// the schedule.
func (i *instanceRow) failed(now time.Time, reason string) {
	i.settleCall()
	i.Tries++
	i.ReasonCode = reason
	if wait, again := waits.After(i.PublicID, i.Tries); again {
		i.NextTryOn = driver.Time(now.Add(wait))
		return
	}
	i.stop(now, reason)
}

// stop ends the schedule before its time. The row expires later.
func (i *instanceRow) stop(now time.Time, reason string) {
	i.settleCall()
	i.NextSendOn, i.StoppedOn, i.ReasonCode, i.IsOnSupportHold = time.Time{}, now, reason, false
}

// abandoned is a claim whose lease ran out: a failed try, since one row may bring down
// each process that takes it.
func (i *instanceRow) abandoned(now time.Time) { i.triedInVain(now, reasons.LeaseLost) }

// passFailed settles a row whose group failed, or that could not be stored as it was.
func (i *instanceRow) passFailed(now time.Time) { i.triedInVain(now, reasons.PassFailed) }

func (i *instanceRow) triedInVain(now time.Time, reason string) {
	if i.Making { // the message was not stored
		i.Making, i.Queued = false, false
	}
	if !i.isOpen() || i.NextSendOn.IsZero() || i.Queued { // nothing to count: it is looked at again
		i.lookAgain(now.Add(waits[0]))
		return
	}
	i.failed(now, reason)
	i.lookAgain(now)
}

// hold keeps the row from being due until a person decides.
func (i *instanceRow) hold(reason string) {
	i.IsOnSupportHold, i.ReasonCode = true, reason
}
