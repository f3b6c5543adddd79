package notify

import (
	"context"

	"github.com/belfry-go/belfry/storage"
)

// DeliveryDispatcher makes sure that the records of a delivery exist
// (Communication - System architecture, "Ensure contracts"). *[Notifier] is
// the one that delivers; a host may decorate it.
//
// Every method finds each artifact by its deterministic key, compares the
// immutable fields, creates it if it is missing, and gives its coordinates, in
// the order of the arguments. However often it is called, a compatible
// artifact is success and stays as it is. It takes a constant number of
// statements for any number of artifacts.
//
// With a transaction everything belongs to it; with nil to the bound one, if
// there is one, else to one of its own. A mismatch is an outcome: every result
// comes back, and the error joins a *[ConflictError] for each mismatch, while
// the transaction stays usable and one of its own is committed. After any
// other error nothing of the call was written, or the transaction given must
// be rolled back.
type DeliveryDispatcher interface {
	EnsureAutomationJob(ctx context.Context, tx storage.Tx, jobs ...AutomationJob) ([]Ensured, error)
	EnsureNotificationJob(ctx context.Context, tx storage.Tx, jobs ...Job) ([]Ensured, error)
	EnsureMessagingJob(ctx context.Context, tx storage.Tx, jobs ...MessagingJob) ([]Ensured, error)
	EnsureUserMessage(ctx context.Context, tx storage.Tx, messages ...UserMessage) ([]Ensured, error)
	EnsureOutgoingMessage(ctx context.Context, tx storage.Tx, messages ...OutgoingMessage) ([]Ensured, error)
	EnsureNotificationScheduler(ctx context.Context, tx storage.Tx, schedules ...Schedule) ([]Ensured, error)
}

// Registrar is what automation asks of its dispatcher beside: to know a type of
// notification. It panics on a type that no program can mean.
type Registrar interface{ Register(t Type) }
