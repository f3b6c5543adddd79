package notify

import "github.com/belfry-go/belfry/storage"

// Ensured is the answer for one artifact of an Ensure call.
type Ensured struct {
	Artifact Artifact
	Scope    Scope
	// Key is the stored identity; Coordinates are its parts, as the documents
	// name them. Both are stable however often the call is repeated.
	Key string
	Coordinates
	// Outcome is Created, Unchanged or Conflict. The first two are success.
	Outcome storage.Outcome
	// Status is the state of the stored row.
	Status string
	// MessageID is the id that providers see, of an outgoing message.
	MessageID string
	// Conflict is set if and only if Outcome is Conflict.
	Conflict *ConflictError
}
