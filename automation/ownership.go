package automation

import (
	"encoding/json"
	"time"

	"github.com/belfry-go/belfry/internal/states"
	"github.com/belfry-go/belfry/storage"
)

// Owner is a side of the ownership guard: who may create the delivery of a run
// (Report Subscription, "One-Owner Guard").
type Owner string

// The two sides.
const (
	OldScheduler        Owner = "OldScheduler"        // what did the work before
	AutomationScheduler Owner = "AutomationScheduler" // this package
)

// The statuses of an [Ownership].
const (
	OwnershipOwned           = "Owned"           // its owner may deliver; only now may it change owner
	OwnershipDeliveryCreated = "DeliveryCreated" // its owner has created the delivery; for ever
	OwnershipCancelled       = "Cancelled"       // its owner has found that there is nothing to deliver
)

// ownershipMachine is the table of legal transitions of a run's ownership.
var ownershipMachine = states.Machine{
	Name:  "RunOwnership",
	Start: []string{OwnershipOwned, OwnershipDeliveryCreated, OwnershipCancelled},
	Edges: []states.Edge{
		{From: OwnershipOwned, To: OwnershipOwned, Event: "a move of the roll-out or support gives it to the other side"},
		{From: OwnershipOwned, To: OwnershipDeliveryCreated, Event: "its owner creates the delivery, in the same transaction"},
		{From: OwnershipOwned, To: OwnershipCancelled, Event: "the due pass found nothing to deliver"},
		{From: OwnershipCancelled, To: OwnershipOwned, Event: "the run is asked for again"},
		{From: OwnershipCancelled, To: OwnershipDeliveryCreated, Event: "support has it tried again, and its owner delivers"},
	},
	Terminal: []string{OwnershipDeliveryCreated},
}

// ownership is a row of report_run_ownership: which side delivers the run of a
// SchedulerKey, its Key. Its Type is the type of the run. It is never due. Some
// columns are empty in a row that the old scheduler made, until the run is
// ensured here.
type ownership struct {
	storage.Record

	Owner        Owner           `db:"owner_type"`
	OwnerVersion int64           `db:"owner_version"` // grows whenever the owner changes
	Coordinates  json.RawMessage `db:"coordinates,json,null"`

	BusinessUnit string `db:"business_unit"`
	Setting      string `db:"setting"`
	SourceType   string `db:"source_type"`
	Source       string `db:"source"`

	ScheduledOn time.Time `db:"scheduled_on"` // zero: the run was never ensured here
	OldRanOn    time.Time `db:"old_ran_on"`   // when the old scheduler delivered it, or says so
	RunOn       time.Time `db:"run_on"`       // ScheduledOn, or else OldRanOn
	EndedOn     time.Time `db:"ended_on"`     // zero while Owned
	Stage       Stage     `db:"stage"`        // of the roll-out when it ended here
}

// ownerships is the table of the guard.
var ownerships = storage.Define[ownership]("report_run_ownership").Limit(maxRow)

// to changes the status, and what follows from it.
func (o *ownership) to(now time.Time, status string) {
	ownershipMachine.Must(o.Status, status)
	o.Status = status
	o.EndedOn = time.Time{}
	if status != OwnershipOwned {
		o.EndedOn = now
	}
}

// give hands an Owned run to a side. It reports whether anything changed.
func (o *ownership) give(to Owner) bool {
	if o.Status != OwnershipOwned || o.Owner == to {
		return false
	}
	o.Owner, o.OwnerVersion = to, o.OwnerVersion+1
	return true
}

// ran reports whether the side has created the delivery.
func (o *ownership) ran(side Owner) bool {
	return o.Owner == side && o.Status == OwnershipDeliveryCreated
}

// Ownership says which side delivers a run.
type Ownership struct {
	Scope  Scope
	Key    string
	Owner  Owner
	Status string
	// Version grows whenever the owner changes; 1 is the first one.
	Version int64
	// Coordinates are what the owner wrote when it created the delivery; see
	// [Scheduler.DeliverForOldScheduler] and [notify.DispatchResult].
	Coordinates json.RawMessage

	// What the run is about; empty as long as only the old scheduler knows it.
	Type, BusinessUnit, Setting string
	Source                      Source
	ScheduledOn                 time.Time // UTC; zero: it was never ensured here
	OldRanOn                    time.Time // UTC, when the old scheduler delivered it; zero: it did not say so
	EndedOn                     time.Time // UTC; zero while Owned
	Stage                       Stage     // of the roll-out when it ended here
}

func (o *ownership) view() Ownership {
	return Ownership{
		Scope: o.Scope, Key: o.Key, Owner: o.Owner, Status: o.Status, Version: o.OwnerVersion, Coordinates: o.Coordinates,
		Type: o.Type, BusinessUnit: o.BusinessUnit, Setting: o.Setting, Source: Source{o.SourceType, o.Source},
		ScheduledOn: o.ScheduledOn, OldRanOn: o.OldRanOn, EndedOn: o.EndedOn, Stage: o.Stage,
	}
}
