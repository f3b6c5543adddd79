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
	return []states.Machine{scheduleStates, jobStates, messagingStates, userStates, outgoingStates, eventStates, suppressionStates}
}

// Schemas lists the tables of this package, so that adapters' tests can
// compare them with a live database.
func Schemas() []*storage.Schema {
	return []*storage.Schema{
		&automationJobs.Schema, &jobs.Schema, &messagingJobs.Schema, &schedules.Schema,
		&userMessages.Schema, &outgoingMessages.Schema, &conflicts.Schema,
		&pauses.Schema, &preferences.Schema, &frequencies.Schema, &rateBuckets.Schema, &rateReservations.Schema, &hashKeys.Schema,
		&deliveryEvents.Schema, &messageReceipts.Schema, &deliveryFacts.Schema, &suppressions.Schema,
	}
}
