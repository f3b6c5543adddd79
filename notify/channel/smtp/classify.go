package smtp

import (
	"slices"

	"github.com/belfry-go/belfry/notify"
)

// loginCodes are 5yz answers about the session and not about the message.
var loginCodes = []int{530, 534, 535, 538}

// failure is the error of a step before the final dot: the message was not
// accepted.
func failure(step string, err error) error {
	e := newError(step, err)
	switch {
	case e.Code == 0:
		return notify.Transient(step, 0, e)
	case e.Code/100 == 5 && aboutMessage(step) && !slices.Contains(loginCodes, e.Code):
		return notify.Permanent(e.status(), e)
	}
	return notify.Transient(e.status(), 0, e)
}

func aboutMessage(step string) bool { return step == "MAIL" || step == "RCPT" || step == "DATA" }

// finalDot is the outcome of the whole message, given what reading the answer
// to its final dot gave.
func finalDot(err error) error {
	if err == nil {
		return nil
	}
	e := newError("final dot", err)
	switch e.Code / 100 {
	case 2: // accepted with another code than 250
		return nil
	case 4:
		return notify.Transient(e.status(), 0, e)
	case 5:
		return notify.Permanent(e.status(), e)
	}
	return notify.Unknown(e.Step, e)
}
