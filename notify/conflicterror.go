package notify

import "fmt"

// ConflictError says that an artifact exists under the key but stands for
// something else: an immutable field differs. The stored artifact is as it
// was, nothing is sent for the wanted one, and the transaction stays usable
// (Communication - System architecture, "Ensure contracts").
type ConflictError struct {
	Artifact Artifact
	Scope    Scope
	Coordinates
	// Field is the first immutable field that differs, such as "InputHash".
	Field string
	// Stored and Wanted are both sides: hashes, codes and ids, never an address
	// or text.
	Stored, Wanted string
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("notify: %s %s / %s: %s is %q, wanted %q", e.Artifact, e.PartitionKey, e.RowKey, e.Field, e.Stored, e.Wanted)
}
