package report

import "github.com/belfry-go/belfry/internal/states"

// The statuses of a [Subscription].
const (
	StatusActive      = "Active"      // its next run exists, unless its cadence has ended
	StatusPaused      = "Paused"      // no runs but those that people ask for
	StatusDeactivated = "Deactivated" // no runs, for good
)

// machine is the table of legal transitions.
var machine = states.Machine{
	Name:  "ReportSubscription",
	Start: []string{StatusActive},
	Edges: []states.Edge{
		{From: StatusActive, To: StatusPaused, Event: "paused"},
		{From: StatusPaused, To: StatusActive, Event: "resumed"},
		{From: StatusActive, To: StatusDeactivated, Event: "deactivated"},
		{From: StatusPaused, To: StatusDeactivated, Event: "deactivated"},
	},
	Terminal: []string{StatusDeactivated},
}
