package cutover

import (
	"encoding/json"
	"time"

	"github.com/belfry-go/belfry/storage"
)

// Owner is a side of the ownership guard: who may create the delivery of a run
// (Report Subscription, "One-Owner Guard").
type Owner string

// The two sides.
const (
	OldScheduler        Owner = "OldScheduler"        // what did the work before
	AutomationScheduler Owner = "AutomationScheduler" // package automation
)

// The statuses of an [Ownership].
const (
	Owned           = "Owned"           // its owner may deliver; only now may it change owner
	DeliveryCreated = "DeliveryCreated" // its owner has created the delivery; for ever
	Cancelled       = "Cancelled"       // nothing is delivered: it is no longer wanted, or has no recipient
)

// Ownership says which side delivers a run.
type Ownership struct {
	Scope  storage.Scope
	Key    string
	Owner  Owner
	Status string
	// Version grows whenever the owner changes; 1 is the first one.
	Version int64
	// Coordinates are what the owner wrote when it created the delivery; see
	// automation.Rollout.DeliverForOldScheduler and notify.DispatchResult.
	Coordinates json.RawMessage

	// What the run is about; empty as long as only the old scheduler knows it.
	Type, BusinessUnit, Setting, SourceType, Source string

	ScheduledOn time.Time // UTC; zero: it was never ensured here
	OldRanOn    time.Time // UTC, when the old scheduler delivered it; zero: it did not say so
	EndedOn     time.Time // UTC; zero while Owned
	Stage       Stage     // of the roll-out when it ended here
}

// ContestedRun is a run on support hold that both sides wanted.
type ContestedRun struct {
	Key         string
	Type        string
	ScheduledOn time.Time
	Detail      string // names both sides
	Ownership   Ownership
}
