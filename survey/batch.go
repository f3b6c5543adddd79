package survey

import (
	"encoding/json"
	"time"
)

// Batch is what [Service.Ingest] takes: events of one kind.
type Batch struct {
	Scope     Scope
	EventKind string
	Items     []Item
}

// Item is one event and who is asked about it.
type Item struct {
	// Payload is a JSON object; its values are the paths candidate.*.
	Payload   json.RawMessage
	Recipient Recipient
	// OccurredOn is the moment of the event; zero: that of the ingest.
	OccurredOn time.Time
}

// Recipient is who gets the link.
type Recipient struct {
	Address     string
	Locale      string
	CustomerRef string
}

// IngestReport says what became of the items of a batch, in their order.
type IngestReport struct {
	Created, Skipped, Failed, NoMatch int
	Items                             []ItemReport
}

// ItemReport is what became of one item: Failed if an instance failed, Created if
// one was created, Skipped if all were, else NoMatch.
type ItemReport struct {
	Outcome   Outcome
	Reason    string // of an item that failed as a whole
	Instances []InstanceReport
}

// InstanceReport is what became of one item for one trigger.
type InstanceReport struct {
	Outcome   Outcome
	SurveyID  int64
	TriggerID string
	PublicID  string // of a skipped one the original's; empty if it failed
	Reason    string // of a failed one
}

// Outcome is what ingest did.
type Outcome string

// The outcomes of an ingest.
const (
	Created Outcome = "Created"
	Skipped Outcome = "Skipped" // the event has an instance already
	Failed  Outcome = "Failed"
	NoMatch Outcome = "NoMatch" // no trigger wants the event
)
