package survey

import "github.com/belfry-go/belfry/internal/states"

// The states of an [Instance] (Triggers & Scheduler, "SurveyInstance state
// machine"). A claim does not change them: the lease alone says that it is held.
const (
	StatusPending   = "Pending"   // created, not sent yet
	StatusSent      = "Sent"      // at least one send succeeded
	StatusOpened    = "Opened"    // the customer's browser has shown the form
	StatusCompleted = "Completed" // the customer has submitted a response
	StatusExpired   = "Expired"   // the time for a response is over
)

// active are the states in which an instance may be sent, opened and answered.
var active = []string{StatusPending, StatusSent, StatusOpened}

var machine = states.Machine{
	Name:  "SurveyInstance",
	Start: []string{StatusPending},
	Edges: []states.Edge{
		{From: StatusPending, To: StatusSent, Event: "the initial send is accepted, or taken for it"},
		{From: StatusPending, To: StatusOpened, Event: "the form was shown before the send was settled"},
		{From: StatusSent, To: StatusOpened, Event: "the form was shown"},
		{From: StatusPending, To: StatusCompleted, Event: "submitted before the send was settled, or by the host"},
		{From: StatusSent, To: StatusCompleted, Event: "submitted"},
		{From: StatusOpened, To: StatusCompleted, Event: "submitted"},
		{From: StatusPending, To: StatusExpired, Event: "never sent: the sends have stopped or were never reached, and the grace is over"},
		{From: StatusSent, To: StatusExpired, Event: "no response, and the grace or the absolute limit is over"},
		{From: StatusOpened, To: StatusExpired, Event: "no response, and the grace is over"},
	},
	Terminal: []string{StatusCompleted, StatusExpired},
}
