package automation

import "github.com/belfry-go/belfry/internal/states"

// The statuses of a [Schedule].
const (
	StatusPending     = "Pending"     // waits for its moment, or for its next try
	StatusProcessing  = "Processing"  // held by a worker
	StatusCompleted   = "Completed"   // delivery work is queued, which does not say that it arrived
	StatusFailed      = "Failed"      // tried in vain, on support hold
	StatusDeactivated = "Deactivated" // no longer wanted; see ReasonCode
	StatusCancelled   = "Cancelled"   // stopped by a person
)

// machine is the table of legal transitions; every method of [Schedule] that
// changes the status checks itself against it.
var machine = states.Machine{
	Name:  "Schedule",
	Start: []string{StatusPending, StatusDeactivated}, // the latter in shadow
	Edges: []states.Edge{
		{From: StatusPending, To: StatusProcessing, Event: "claimed"},
		{From: StatusProcessing, To: StatusCompleted, Event: "delivery work is queued"},
		{From: StatusProcessing, To: StatusPending, Event: "failure with back-off, lost lease, shutdown, support hold"},
		{From: StatusProcessing, To: StatusFailed, Event: "permanent error, or retries exhausted"},
		{From: StatusProcessing, To: StatusDeactivated, Event: "no longer valid when due, or an event under the worker"},
		{From: StatusProcessing, To: StatusCancelled, Event: "cancelled by support under the worker"},
		{From: StatusPending, To: StatusDeactivated, Event: "event"},
		{From: StatusPending, To: StatusCancelled, Event: "cancelled by support"},
		{From: StatusFailed, To: StatusPending, Event: "ensured again, released or retried"},
		{From: StatusFailed, To: StatusDeactivated, Event: "event"},
		{From: StatusFailed, To: StatusCancelled, Event: "cancelled by support"},
		{From: StatusDeactivated, To: StatusPending, Event: "ensured again, or retried by support"},
		{From: StatusDeactivated, To: StatusCancelled, Event: "cancelled by support"},
		{From: StatusCancelled, To: StatusPending, Event: "released or retried by support, or ensured again without a hold"},
	},
	Terminal: []string{StatusCompleted},
}
