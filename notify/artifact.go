package notify

import (
	"time"

	"github.com/belfry-go/belfry/internal/states"
	"github.com/belfry-go/belfry/storage"
)

// Artifact names a kind of record that a dispatch makes sure of.
type Artifact string

// The artifacts, by the documents' names.
const (
	ArtifactAutomationJob         Artifact = "AutomationJob"
	ArtifactNotificationJob       Artifact = "NotificationJob"
	ArtifactMessagingJob          Artifact = "MessagingJob"
	ArtifactNotificationScheduler Artifact = "NotificationScheduler"
	ArtifactUserMessage           Artifact = "UserMessage"
	ArtifactOutgoingMessage       Artifact = "OutgoingMessage"
)

// Coordinates say where an artifact is found. They are deterministic, so they
// are known before it exists.
type Coordinates struct {
	PartitionKey string `json:"pk,omitempty"`
	RowKey       string `json:"rk,omitempty"`
}

// IsZero reports whether c names nothing.
func (c Coordinates) IsZero() bool { return c == Coordinates{} }

// SupportHold is in every row that a person may have to look at. A row on hold
// is never due; only an audited release makes it so again.
type SupportHold struct {
	IsOnSupportHold bool   `db:"is_on_support_hold"`
	HoldReason      string `db:"hold_reason"` // one of the Hold… codes; empty without a hold
}

// The reasons for a hold.
const (
	HoldConflict = "Conflict"         // an artifact stands for something else
	HoldRetries  = "RetriesExhausted" // the last try allowed has failed
	HoldInDoubt  = "OutcomeUnknown"   // nobody can tell whether the message was sent
	HoldRefused  = "Refused"          // another try would fail in the same way
)

// Reason codes: why a row is in its state. They are stored and shown, beside
// the codes that channels and revalidators give.
const (
	ReasonNoRecipients    = "NoRecipients"       // a job without anybody to notify
	ReasonNoDestination   = "NoDestination"      // a recipient with neither channel nor inbox
	ReasonBadAddress      = "BadAddress"         // an address that its method cannot deliver to
	ReasonRenderFailed    = "RenderFailed"       // the renderer returned an error
	ReasonArtifactMissing = "ArtifactMissing"    // a schedule whose job does not exist
	ReasonConflict        = "Conflict"           // an artifact stands for something else
	ReasonLeaseLost       = "LeaseLost"          // a worker died, or lost its lease
	ReasonPassFailed      = "PassFailed"         // the pass itself failed
	ReasonRevalidation    = "RevalidationFailed" // the revalidator could not answer
	ReasonRefused         = "Refused"            // the provider gave no code
	ReasonInDoubt         = "InDoubt"            // nobody knows whether a call delivered
	ReasonAbsent          = "Absent"             // the provider does not have the message
	ReasonWindowOver      = "IdempotencyWindowOver"
	ReasonAttachment      = "AttachmentMissing" // a blob that the content names could not be read

	// Of gates, in their order.
	ReasonQuarantine   = "Quarantine"   // the database is a copy: release the quarantine, or leave it be
	ReasonNotAllowed   = "NotAllowed"   // the recipient is none of those that may get anything in this environment
	ReasonPaused       = "Paused"       // somebody has paused the type, the channel or the scope: it waits until that ends
	ReasonOptedOut     = "OptedOut"     // the recipient does not want messages of this type or by this method
	ReasonFrequencyCap = "FrequencyCap" // the recipient has got as many messages as the cap allows
	ReasonQuietHours   = "QuietHours"   // it is no time to send where the recipient lives: it waits for the next send window
	ReasonRateLimit    = "RateLimit"    // the channel has been used as much as its rate allows: it waits its turn
	ReasonGateFailed   = "GateFailed"   // a gate returned an error or panicked: see the log for which one, and mend it
	ReasonNoChannel    = "NoChannel"    // the channel source has failed, or has no channel of this key for the scope
	ReasonExists       = "Exists"       // of a dry run: the message has been sent or has ended
)

// Tries counts what went wrong with a row so far.
type Tries struct {
	RetryCount     int       `db:"retry_count"`      // failures in a row
	LeaseLossCount int       `db:"lease_loss_count"` // of a worker that held the row
	NextRetryOn    time.Time `db:"next_retry_on"`    // zero unless a retry waits
	ReasonCode     string    `db:"reason_code"`      // of the last failure or the end
	EndedOn        time.Time `db:"ended_on"`         // when nothing was left to do
}

// States gives the state machines of this package, for the documentation.
func States() []states.Machine {
	return []states.Machine{scheduleStates, jobStates, messagingStates, userStates, outgoingStates}
}

// Schemas lists the tables of this package, so that adapters' tests can
// compare them with a live database.
func Schemas() []*storage.Schema {
	return []*storage.Schema{
		&automationJobs.Schema, &jobs.Schema, &messagingJobs.Schema, &schedules.Schema,
		&userMessages.Schema, &outgoingMessages.Schema, &conflicts.Schema,
		&pauses.Schema, &preferences.Schema, &frequencies.Schema, &rateBuckets.Schema, &rateReservations.Schema, &hashKeys.Schema,
	}
}
