package notify

import (
	"time"

	"github.com/belfry-go/belfry/storage"
)

// OutgoingMessage is one message to one recipient by one method, claimed
// before its provider is called (Communication - System architecture,
// "OutgoingMessage + send claim"). A caller of EnsureOutgoingMessage fills in
// the fields down to ScheduledOn, with Scope, Type (the channel key, required)
// and Lane of the Record; the others belong to the pipeline.
type OutgoingMessage struct {
	storage.Record
	// PartitionKey is the notification job's row key, or the messaging job's
	// GUID.
	PartitionKey string `db:"partition_key,fixed"`
	// RowKey is keys.OutgoingMessageRow; empty means that of RecipientHash.
	RowKey string `db:"row_key,fixed"`
	// JobPartitionKey is the notification job's partition key; empty for a
	// messaging job's messages.
	JobPartitionKey  string `db:"job_partition_key,fixed"`
	NotificationType string `db:"notification_type,fixed"`
	BusinessUnit     string `db:"business_unit,fixed"`
	// Method is the delivery method; empty means that of the channel key.
	Method string `db:"method,fixed"`
	// RecipientRef is the host's id. RecipientHash is the RecipientKeyHash of it,
	// the method and the normalised address, which is made if it is empty, under
	// the host's key with the fingerprint HashKey.
	RecipientRef  string `db:"recipient_ref,fixed"`
	RecipientHash string `db:"recipient_hash,fixed"`
	HashKey       string `db:"hash_key,fixed"`
	RecipientName string `db:"recipient_name,fixed"`
	Address       string `db:"address,fixed"`
	Zone          string `db:"zone,fixed"`
	// AttemptNo is 0, or counts the new attempts that somebody intended; a retry
	// uses the row again.
	AttemptNo int `db:"attempt_no,fixed"`
	// Content is what the first call says; later ones find it as it is.
	Content Content `db:"content,fixed,json"`
	// ContentHash is set where the caller supplies the content itself; another
	// one is a conflict then.
	ContentHash string `db:"content_hash,fixed"`
	InputHash   string `db:"input_hash,fixed"`
	// InDoubt is the policy of the type; empty means the registered one's.
	InDoubt InDoubt `db:"in_doubt,fixed"`
	// Mandatory is that of the type; false means the registered one's. It is kept here
	// since the process that sends need not have registered the type.
	Mandatory bool `db:"mandatory,fixed"`
	// ScheduledOn is the first moment at which the message may go out; zero
	// means at once.
	ScheduledOn time.Time `db:"scheduled_on,fixed"`

	// MessageID is random and what providers see. It finds the row of a webhook.
	MessageID string    `db:"message_id,fixed"`
	CreatedOn time.Time `db:"created_on,fixed"`
	Progress
	Tries
	SupportHold
}

var outgoingMessages = storage.Define[OutgoingMessage]("outgoing_message")

// Progress is what calls of the provider and doubts about them have led to.
type Progress struct {
	// Calls counts provider calls that were started.
	Calls int `db:"calls"`
	// CallStartedOn is set from before a call until the row is due again for
	// another one: a crash in between leaves the message in doubt.
	CallStartedOn time.Time `db:"call_started_on"`
	SentOn        time.Time `db:"sent_on"` // accepted by the provider, or assumed so
	// ProviderMessageID is the provider's id of the message.
	ProviderMessageID string `db:"provider_message_id"`
	// Doubts counts how often the message came into doubt, Lookups how often a
	// provider was asked about the present one.
	Doubts  int `db:"doubts"`
	Lookups int `db:"lookups"`
	// Resolution says how the last doubt was settled, and ResolvedOn when.
	Resolution Resolution `db:"resolution"`
	ResolvedOn time.Time  `db:"resolved_on"`
	// IdempotentUntil ends the window in which the provider accepts a repeat only
	// once. It is set when a repeat relies on that; after it nothing is repeated.
	IdempotentUntil time.Time `db:"idempotent_until"`
}

// Coordinates are where the message is found.
func (m *OutgoingMessage) Coordinates() Coordinates { return Coordinates{m.PartitionKey, m.RowKey} }

// Resolution is how a doubt was settled.
type Resolution string

// The resolutions of a doubt.
const (
	ResolvedByLookup      Resolution = "StatusLookup"   // the provider said so
	ResolvedByIdempotency Resolution = "IdempotentSend" // sent again under the same ID
	ResolvedByHold        Resolution = "Hold"           // left to a person
	ResolvedByAssumption  Resolution = "AssumeSent"     // the policy took it for sent
	ResolvedByResend      Resolution = "Resend"         // the policy had it sent again
	ResolvedBySupport     Resolution = "Support"        // a person decided
	ResolvedByCall        Resolution = "LateResult"     // the call's own answer came in after all
	ResolvedByCallback    Resolution = "Callback"       // the provider's webhook said so
)
