package report

import (
	"encoding/json"
	"time"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/notify"
)

// Subscription says which report is built when, and who gets it how. All but the
// cadence is looked at when a run is due, so a change of it reaches the run that
// waits.
type Subscription struct {
	Scope automation.Scope
	// GUID stands in the keys of the runs; empty in Create: one is made. It may not
	// hold a colon or a control character.
	GUID string
	// Type is the Name of a [Type], which need not be registered in this process.
	Type string
	// Name is for people.
	Name string
	// BusinessUnit is the part of the tenant that it belongs to; it may be empty,
	// and cannot change.
	BusinessUnit string

	// Cadence says when; Start is required with an RRULE.
	Cadence automation.Recurrence
	// SendAt is the local time of an RRULE that names none, "09:00".
	SendAt string
	// Zone is the IANA zone of the cadence; default the business unit's, by
	// automation.Options.Zone. When that changes, see [Service.Refresh].
	Zone string
	// Gap and Overlap are as in automation.Candidate.
	Gap     automation.GapPolicy
	Overlap automation.OverlapPolicy

	// Recipients get the report, unless the type resolves others; at most 200.
	Recipients []notify.Recipient
	// Template is one of the type's Templates; empty: its Template.
	Template string
	Delivery Delivery
	// Parameters are for the builder: JSON of at most 8 KiB.
	Parameters json.RawMessage

	// Status is one of the Status constants; only Pause, Resume and Deactivate
	// change it.
	Status string
	// Version is what the subscription was read with; zero for a new one.
	Version            int64
	CreatedOn, SavedOn time.Time // Create and Update ignore them
}

// Delivery says how a report reaches its recipients. The zero value attaches its
// files to one message each, and sends nothing if it is empty.
type Delivery struct {
	// Link leaves the files where they are: messages have the URLs that the type's
	// Link gives.
	Link bool `json:"link,omitempty"`
	// SendEmpty sends a report that is empty, too. Otherwise its run ends as
	// Deactivated, [ReportEmpty].
	SendEmpty bool `json:"sendEmpty,omitempty"`
	// Bulk goes through a messaging job with the recipients in a blob, in chunks and
	// in the bulk lane. A run of more than 500 recipients always does, and one that
	// has more to say than fits into a notification job.
	Bulk bool `json:"bulk,omitempty"`
}
