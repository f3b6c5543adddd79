package notify

import (
	"errors"
	"slices"

	"github.com/belfry-go/belfry/internal/outage"
	"github.com/belfry-go/belfry/internal/permanent"
	"github.com/belfry-go/belfry/internal/states"
	"github.com/belfry-go/belfry/internal/storable"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage/driver"
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

// States gives the state machines of this package, for the documentation.
func States() []states.Machine {
	return []states.Machine{scheduleStates, jobStates, messagingStates, userStates, outgoingStates, eventStates, suppressionStates}
}

// Schemas lists the tables of this package, so that adapters' tests can
// compare them with a live database.
func Schemas() []*driver.Schema {
	return []*driver.Schema{
		&automationJobs.Schema, &jobs.Schema, &digestEntries.Schema, &messagingJobs.Schema, &schedules.Schema,
		&userMessages.Schema, &outgoingMessages.Schema, &conflicts.Schema,
		&pauses.Schema, &outage.Table.Schema, &preferences.Schema, &hashKeys.Schema,
		&deliveryEvents.Schema, &deliveryFacts.Schema, &suppressions.Schema,
	}
}

// The states of rows, as they are stored. Jobs, messaging jobs, schedules and
// messages each have some of them; see the tables in the documentation.
const (
	StatusCreated        = "Created"
	StatusReady          = "Ready"
	StatusProcessing     = "Processing"
	StatusDispatched     = "Dispatched"
	StatusGenerating     = "Generating"
	StatusGenerated      = "Generated"
	StatusDigested       = "Digested"
	StatusSkipped        = "Skipped"
	StatusFailed         = "Failed"
	StatusRetryReady     = "RetryReady"
	StatusSending        = "Sending"
	StatusOutcomeUnknown = "OutcomeUnknown"
	StatusSentToProvider = "SentToProvider"
	StatusDelivered      = "Delivered"
	StatusOpened         = "Opened"
	StatusFailedFinal    = "FailedFinal"
	StatusExpired        = "Expired"
	StatusCancelled      = "Cancelled"
	StatusUnseen         = "Unseen"
	StatusSeen           = "Seen"
	StatusRead           = "Read"
	StatusArchived       = "Archived"
	StatusPaused         = "Paused"
	StatusStopped        = "Stopped"
)

// The states of rows that no host gets: of delivery events, and of suppressions.
const (
	statusWaiting = "Waiting"
	statusMatched = "Matched"
	statusOrphan  = "Orphan"
	statusActive  = "Active"
	statusLifted  = "Lifted"
)

const (
	unclaimed = "no process has its type: support hold"
	unheld    = "released by support, or a process has its type after all"
)

var scheduleStates = states.Machine{
	Name:  string(ArtifactNotificationScheduler),
	Start: []string{StatusReady},
	Edges: []states.Edge{
		{From: StatusReady, To: StatusProcessing, Event: "claimed when due"},
		{From: StatusReady, To: StatusFailed, Event: unclaimed},
		{From: StatusProcessing, To: StatusDispatched, Event: "the artifact is ready, or was before"},
		{From: StatusProcessing, To: StatusSkipped, Event: "the type is not seeded, is switched off, or has no subscribers"},
		{From: StatusProcessing, To: StatusReady, Event: "failed, lease lost, or given back at shutdown"},
		{From: StatusProcessing, To: StatusFailed, Event: "failed for the fourth time: support hold"},
		{From: StatusFailed, To: StatusReady, Event: unheld},
		{From: StatusReady, To: StatusCancelled, Event: "cancelled"},
		{From: StatusProcessing, To: StatusCancelled, Event: "cancelled: what its worker decides is dropped"},
		{From: StatusFailed, To: StatusCancelled, Event: "cancelled"},
	},
	Terminal: []string{StatusDispatched, StatusSkipped, StatusFailed, StatusCancelled},
}

var jobStates = states.Machine{
	Name:  string(ArtifactNotificationJob),
	Start: []string{StatusCreated, StatusReady}, // Ready: a digest
	Edges: []states.Edge{
		{From: StatusCreated, To: StatusReady, Event: "its schedule was dispatched"},
		{From: StatusCreated, To: StatusSkipped, Event: "its schedule was skipped"},
		{From: StatusReady, To: StatusGenerating, Event: "claimed"},
		{From: StatusReady, To: StatusFailed, Event: unclaimed},
		{From: StatusGenerating, To: StatusGenerated, Event: "messages exist"},
		{From: StatusGenerating, To: StatusDigested, Event: "its recipients wait for digests"},
		{From: StatusGenerating, To: StatusSkipped, Event: "no recipient"},
		{From: StatusGenerating, To: StatusReady, Event: "failed, lease lost, or given back at shutdown"},
		{From: StatusGenerating, To: StatusFailed, Event: "failed for good or for the fourth time: support hold"},
		{From: StatusFailed, To: StatusReady, Event: unheld},
		{From: StatusGenerated, To: StatusReady, Event: "recipients were added"},
		{From: StatusDigested, To: StatusReady, Event: "recipients were added"},
		{From: StatusSkipped, To: StatusReady, Event: "recipients were added where there were none"},
		{From: StatusCreated, To: StatusCancelled, Event: "cancelled"},
		{From: StatusReady, To: StatusCancelled, Event: "cancelled"},
		{From: StatusGenerating, To: StatusCancelled, Event: "cancelled: what its worker has made is dropped"},
		{From: StatusFailed, To: StatusCancelled, Event: "cancelled"},
		{From: StatusDigested, To: StatusCancelled, Event: "cancelled while its digests wait"},
	},
	Terminal: []string{StatusGenerated, StatusDigested, StatusSkipped, StatusFailed, StatusCancelled},
}

var messagingStates = states.Machine{
	Name:  string(ArtifactMessagingJob),
	Start: []string{StatusCreated},
	Edges: []states.Edge{
		{From: StatusCreated, To: StatusReady, Event: "its schedule was dispatched"},
		{From: StatusCreated, To: StatusSkipped, Event: "its schedule was skipped"},
		{From: StatusReady, To: StatusGenerating, Event: "claimed for a chunk"},
		{From: StatusReady, To: StatusFailed, Event: unclaimed},
		{From: StatusGenerating, To: StatusReady, Event: "a chunk is done, or failed, its lease is lost, or it is given back at shutdown"},
		{From: StatusGenerating, To: StatusGenerated, Event: "the last chunk is done"},
		{From: StatusGenerating, To: StatusSkipped, Event: "no recipient"},
		{From: StatusGenerating, To: StatusStopped, Event: "the payload is not compatible, or its messages stand for something else: support hold"},
		{From: StatusGenerating, To: StatusFailed, Event: "failed for good or for the fourth time: support hold"},
		{From: StatusCreated, To: StatusPaused, Event: "paused before its schedule is due"},
		{From: StatusReady, To: StatusPaused, Event: "paused"},
		{From: StatusGenerating, To: StatusPaused, Event: "paused: the chunk under way is dropped"},
		{From: StatusPaused, To: StatusCreated, Event: "resumed before its schedule is due"},
		{From: StatusPaused, To: StatusReady, Event: "resumed"},
		{From: StatusPaused, To: StatusSkipped, Event: "its schedule was skipped"},
		{From: StatusCreated, To: StatusStopped, Event: "asked for with another payload: support hold"},
		{From: StatusReady, To: StatusStopped, Event: "asked for with another payload: support hold"},
		{From: StatusPaused, To: StatusStopped, Event: "asked for with another payload: support hold"},
		{From: StatusFailed, To: StatusReady, Event: unheld},
		{From: StatusStopped, To: StatusReady, Event: "released by support"},
		{From: StatusStopped, To: StatusCreated, Event: "released by support before its schedule is due"},
		{From: StatusCreated, To: StatusCancelled, Event: "cancelled"},
		{From: StatusReady, To: StatusCancelled, Event: "cancelled"},
		{From: StatusGenerating, To: StatusCancelled, Event: "cancelled: the chunk under way is dropped"},
		{From: StatusPaused, To: StatusCancelled, Event: "cancelled"},
		{From: StatusFailed, To: StatusCancelled, Event: "cancelled"},
		{From: StatusStopped, To: StatusCancelled, Event: "cancelled"},
		{From: StatusGenerated, To: StatusCancelled, Event: "cancelled while messages wait to be sent"},
		{From: StatusCancelled, To: StatusGenerating, Event: "taken over from a cancellation whose worker died; goes back at once"},
	},
	Terminal: []string{StatusGenerated, StatusSkipped, StatusStopped, StatusFailed, StatusCancelled},
}

var userStates = states.Machine{
	Name:  string(ArtifactUserMessage),
	Start: []string{StatusUnseen},
	Edges: []states.Edge{
		{From: StatusUnseen, To: StatusSeen, Event: "listed to the user"},
		{From: StatusUnseen, To: StatusRead, Event: "opened"},
		{From: StatusSeen, To: StatusRead, Event: "opened"},
		{From: StatusUnseen, To: StatusArchived, Event: "put away"},
		{From: StatusSeen, To: StatusArchived, Event: "put away"},
		{From: StatusRead, To: StatusArchived, Event: "put away"},
		{From: StatusRead, To: StatusSeen, Event: "marked as unread"},
		{From: StatusSeen, To: StatusUnseen, Event: "snoozed"},
		{From: StatusRead, To: StatusUnseen, Event: "snoozed"},
		{From: StatusArchived, To: StatusUnseen, Event: "taken out again, as it was"},
		{From: StatusArchived, To: StatusSeen, Event: "taken out again, as it was"},
		{From: StatusArchived, To: StatusRead, Event: "taken out again, as it was"},
	},
	Terminal: []string{StatusArchived},
}

var outgoingStates = states.Machine{
	Name:  string(ArtifactOutgoingMessage),
	Start: []string{StatusCreated, StatusSkipped},
	Edges: slices.Concat([]states.Edge{
		{From: StatusCreated, To: StatusSending, Event: "claimed when due"},
		{From: StatusRetryReady, To: StatusSending, Event: "claimed when due"},
		{From: StatusSending, To: StatusSentToProvider, Event: "the provider accepted"},
		{From: StatusSending, To: StatusRetryReady, Event: "definitely not accepted; deferred; or the call never started"},
		{From: StatusSending, To: StatusFailedFinal, Event: "refused for good, or too often"},
		{From: StatusSending, To: StatusSkipped, Event: "no longer wanted"},
		{From: StatusSending, To: StatusExpired, Event: "its validity was over"},
		{From: StatusSending, To: StatusOutcomeUnknown, Event: "the call's outcome is unknown, or its worker died"},
		{From: StatusOutcomeUnknown, To: StatusSending, Event: "taken over from a resolver that died; goes back at once"},
		{From: StatusOutcomeUnknown, To: StatusSentToProvider, Event: "status look-up, AssumeSent, a person's decision, or the call's late answer"},
		{From: StatusOutcomeUnknown, To: StatusRetryReady, Event: "definitely absent, idempotent repeat, Resend, a person's decision, or a late refusal"},
		{From: StatusOutcomeUnknown, To: StatusCancelled, Event: "its recipient was erased, or the survey link that it was of has ended"},
		{From: StatusOutcomeUnknown, To: StatusFailedFinal, Event: "absent after the last try, or a late refusal for good"},
		{From: StatusCreated, To: StatusCancelled, Event: "it or its campaign was cancelled"},
		{From: StatusRetryReady, To: StatusCancelled, Event: "it or its campaign was cancelled"},
		{From: StatusSending, To: StatusCancelled, Event: "cancelled before its call has begun"},
		{From: StatusRetryReady, To: StatusSentToProvider, Event: "a call's late answer"},
		{From: StatusRetryReady, To: StatusFailedFinal, Event: "a call's late refusal for good"},
		{From: StatusSentToProvider, To: StatusFailedFinal, Event: "a late refusal of what was assumed sent"},
	},
		callbacks(StatusCreated, StatusSentToProvider, StatusFailedFinal, StatusDelivered, StatusOpened),
		callbacks(StatusRetryReady, StatusSentToProvider, StatusFailedFinal, StatusDelivered, StatusOpened),
		callbacks(StatusSending, StatusSentToProvider, StatusFailedFinal, StatusDelivered, StatusOpened),
		callbacks(StatusOutcomeUnknown, StatusSentToProvider, StatusFailedFinal, StatusDelivered, StatusOpened),
		callbacks(StatusSentToProvider, StatusFailedFinal, StatusDelivered, StatusOpened),
		callbacks(StatusFailedFinal, StatusDelivered, StatusOpened),
		callbacks(StatusSkipped, StatusDelivered, StatusOpened),
		callbacks(StatusExpired, StatusDelivered, StatusOpened),
		callbacks(StatusCancelled, StatusDelivered, StatusOpened),
		callbacks(StatusDelivered, StatusOpened),
	),
	Terminal: []string{StatusDelivered, StatusOpened, StatusFailedFinal, StatusSkipped, StatusExpired, StatusCancelled},
}

// callbacks are the ways up that a provider's report takes a message.
func callbacks(from string, to ...string) (edges []states.Edge) {
	for _, s := range to {
		edges = append(edges, states.Edge{From: from, To: s, Event: "the provider's callback says so"})
	}
	return edges
}

var eventStates = states.Machine{
	Name:  "Delivery event",
	Start: []string{statusMatched, statusWaiting},
	Edges: []states.Edge{
		{From: statusWaiting, To: statusMatched, Event: "its message is found"},
		{From: statusWaiting, To: statusOrphan, Event: "no message after the fourth look"},
	},
	Terminal: []string{statusMatched, statusOrphan},
}

var suppressionStates = states.Machine{
	Name:  "Suppression",
	Start: []string{statusActive, statusLifted},
	Edges: []states.Edge{
		{From: statusActive, To: statusLifted, Event: "lifted by a person, or the recipient came back to all that they had left"},
		{From: statusLifted, To: statusActive, Event: "a provider reports it anew, or a person suppresses it"},
	},
	Terminal: []string{statusActive},
}

// forGood reports errors that another try would meet again.
func forGood(err error) bool {
	var part *keys.PartError
	return errors.Is(err, channel.ErrContent) || errors.As(err, &part) || permanent.Is(err)
}

// reasonOf is the code that an error is remembered by; its text may be personal.
func reasonOf(err error, other string) string {
	var e *channel.Error
	if errors.As(err, &e) && e.Code != "" {
		return storable.Code(e.Code)
	}
	return other
}
