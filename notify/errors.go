package notify

import (
	"fmt"
	"time"
)

// SendClass says what an error of a provider call means for the message.
type SendClass string

// The classes of send errors; see [Channel].
const (
	ClassPermanent SendClass = "Permanent" // refused for good: FailedFinal
	ClassTransient SendClass = "Transient" // definitely not accepted: tried again
	ClassUnknown   SendClass = "Unknown"   // perhaps accepted: in doubt
)

// SendError is an error of a provider call with its class. Channels make one
// with [Permanent], [Transient] or [Unknown].
type SendError struct {
	Class SendClass
	// Code is the provider's short code, such as "550" or "throttled". It is
	// stored and logged, so it never holds an address or other personal data.
	Code string
	// RetryAfter is how long the provider asks to wait; zero means it does not
	// say. The usual back-off is the least in any case, a day the most.
	RetryAfter time.Duration
	// Err is the cause, which is neither stored nor logged. It may be nil.
	Err error
}

func (e *SendError) Error() string {
	text := fmt.Sprintf("notify: %s send error", e.Class)
	if e.Code != "" {
		text += " " + e.Code
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns the cause.
func (e *SendError) Unwrap() error { return e.Err }

// Permanent says that the provider refused the message and would refuse it
// again: a bad address, a blocked sender. cause may be nil.
func Permanent(code string, cause error) *SendError {
	return &SendError{Class: ClassPermanent, Code: code, Err: cause}
}

// Transient says that the message was definitely not accepted and may be tried
// again, not before retryAfter has passed if that is set. cause may be nil.
func Transient(code string, retryAfter time.Duration, cause error) *SendError {
	return &SendError{Class: ClassTransient, Code: code, RetryAfter: retryAfter, Err: cause}
}

// Unknown says that the message may or may not have been accepted: the
// connection broke after the request had begun. cause may be nil.
func Unknown(code string, cause error) *SendError {
	return &SendError{Class: ClassUnknown, Code: code, Err: cause}
}
