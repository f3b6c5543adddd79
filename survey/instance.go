package survey

import (
	"encoding/json"
	"time"

	"github.com/belfry-go/belfry/storage"
)

// Instance is one link that is offered to one customer (Triggers & Scheduler, "The
// SurveyInstance row"). Its Key is derived from its survey, its trigger and
// UniqueHash, so that an event that is told twice has one. Its Type is the channel
// key while a send is scheduled, so that only a process that has the channel claims
// it, and empty when the schedule has stopped, so that any process expires it.
type Instance struct {
	storage.Record
	// PublicID is a random UUID for correlation; it opens nothing.
	PublicID string `db:"public_id,fixed"`
	// LinkKey is the id of the key that the link's token is made with, and LinkHash
	// what a token is looked up by.
	LinkKey  string `db:"link_key,fixed"`
	LinkHash string `db:"link_hash,fixed"`

	SurveyID int64 `db:"survey_id,fixed"`
	// SurveyVersion is the number of the version that the instance is pinned to.
	SurveyVersion int64  `db:"survey_version,fixed"`
	BusinessUnit  string `db:"business_unit,fixed"`
	TriggerID     string `db:"trigger_id,fixed"`
	// TriggeredOn is the moment of the event, TriggeredBy "event:" and its kind.
	TriggeredOn time.Time `db:"triggered_on,fixed"`
	TriggeredBy string    `db:"triggered_by,fixed"`
	// Metadata is the payload of the event as it came.
	Metadata    json.RawMessage `db:"metadata,fixed,json"`
	CustomerRef string          `db:"customer_ref,fixed"`
	// Channel is the key of the channel at the time of the event.
	Channel          string `db:"channel,fixed"`
	RecipientAddress string `db:"recipient_address,fixed"`
	RecipientLocale  string `db:"recipient_locale,fixed"`
	// UniqueHash is the lower-case hex of the recipe's SHA-256.
	UniqueHash string    `db:"unique_hash,fixed"`
	CreatedOn  time.Time `db:"created_on,fixed"`

	// NextSendOn is when the next send is due by the schedule; zero: no more.
	NextSendOn time.Time `db:"next_send_on"`
	// NextTryOn is when a send that failed, or that a gate told to wait, is tried
	// again; zero: nothing holds the present one up.
	NextTryOn  time.Time `db:"next_try_on"`
	LastSentOn time.Time `db:"last_sent_on"`
	// RemindersRemaining counts the reminders that are not scheduled yet.
	RemindersRemaining int `db:"reminders_remaining"`
	// SendOrdinal says what the next send is: 0 the initial one, 1 and up the
	// reminders.
	SendOrdinal int `db:"send_ordinal"`
	// Calls counts the calls of the channel that were started, Tries the failed ones
	// of the present ordinal.
	Calls int `db:"calls"`
	Tries int `db:"tries"`
	// CallStartedOn is set from before a call until it is settled.
	CallStartedOn time.Time `db:"call_started_on"`
	// InDoubt says that nobody knows whether that call sent the link.
	InDoubt bool `db:"in_doubt"`
	// StoppedOn is when the schedule ended, for whatever reason.
	StoppedOn time.Time `db:"stopped_on"`
	// ExpiresOn is the absolute limit; zero: none.
	ExpiresOn time.Time `db:"expires_on"`

	OpenedOn    time.Time `db:"opened_on"`
	CompletedOn time.Time `db:"completed_on"`
	EndedOn     time.Time `db:"ended_on"`   // completed or expired
	DeletedOn   time.Time `db:"deleted_on"` // by support; the row stays, so that its event makes no new one

	// ReasonCode says why the last send failed or the schedule stopped.
	ReasonCode      string `db:"reason_code"`
	IsOnSupportHold bool   `db:"is_on_support_hold"`

	// Log has the entries that the row is saved with, in the send pass; no column.
	Log []*Delivery
}

// maxMetadata bounds the payload of an event in bytes. With the largest answers it
// fits into one outbox event.
const maxMetadata = 24 << 10

var instances = storage.Define[Instance]("survey_instance").Limit(maxMetadata + 8<<10).Deciding("public_id")
