package notify

import "time"

// Verdict is the answer to the question whether a message may go out now. The
// zero value is Proceed.
type Verdict struct {
	Action Action
	Until  time.Time // of Defer: when to ask again
	Reason string    // of Defer and Skip: a code, kept on the message
	// To, of Proceed and only from a [Gate], is the address that gets the message
	// instead of its recipient; empty: the recipient does.
	To string
}

// Action is what a [Verdict] asks for.
type Action string

// The actions of a verdict.
const (
	ActionProceed Action = ""
	ActionDefer   Action = "Defer"
	ActionSkip    Action = "Skip"
)

func (a Action) known() bool {
	return a == ActionProceed || a == ActionDefer || a == ActionSkip
}

// Proceed lets a message go out.
func Proceed() Verdict { return Verdict{} }

// Defer makes a message wait; no try is counted.
func Defer(until time.Time, reason string) Verdict {
	return Verdict{Action: ActionDefer, Until: until, Reason: reason}
}

// Skip ends a message unsent.
func Skip(reason string) Verdict { return Verdict{Action: ActionSkip, Reason: reason} }
