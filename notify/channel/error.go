package channel

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/belfry-go/belfry/internal/work"
)

// Class says what an error of a provider call means for the message.
type Class string

// The classes of send errors; see [Channel].
const (
	ClassPermanent Class = "Permanent" // refused for good: FailedFinal
	ClassTransient Class = "Transient" // definitely not accepted: tried again
	ClassUnknown   Class = "Unknown"   // perhaps accepted: in doubt
)

// Fault is what was wrong when a provider did not accept a message.
type Fault string

// The faults of send errors. The zero value means unknown.
const (
	// FaultAddress: the recipient cannot be reached there; others can.
	FaultAddress Fault = "Address"
	// FaultMessage: this message cannot be sent, to whomever; others can.
	FaultMessage Fault = "Message"
	// FaultAccount: nothing can be sent through this account now: its
	// credentials are refused, it is closed, over its rate, or not allowed to send.
	FaultAccount Fault = "Account"
	// FaultProvider: the provider accepts no message now, from any caller: there is no
	// connection, or it says that it is not available.
	FaultProvider Fault = "Provider"
	// FaultPolicy: the provider refuses by a policy and does not say against what. It is
	// taken for the account's where several domains of recipients in a row are refused so.
	FaultPolicy Fault = "Policy"
)

// IsOutage reports whether nothing else can be sent through the account now.
func (f Fault) IsOutage() bool { return f == FaultAccount || f == FaultProvider }

// Error is an error of a provider call with its class. Channels make one
// with [Permanent], [Transient] or [Unknown].
type Error struct {
	Class Class
	// Fault is what was wrong, as far as the channel can tell; see [Error.Blame].
	Fault Fault
	// Code is the provider's short code, such as "550" or "throttled". It is
	// stored and logged, so it never holds an address or other personal data.
	Code string
	// RetryAfter is how long the provider asks to wait; zero means it does not
	// say. The usual back-off is the least in any case, a day the most.
	RetryAfter time.Duration
	// Suppress is why the address gets no more messages; empty: it is not known to be
	// at fault for good. See [Error.Suppressing].
	Suppress SuppressionReason
	// Err is the cause, which is neither stored nor logged. It may be nil.
	Err error
}

func (e *Error) Error() string {
	text := fmt.Sprintf("channel: %s send error", e.Class)
	if e.Code != "" {
		text += " " + e.Code
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Blame returns a copy of e that says what was wrong, and never changes the class. A fault
// that is an outage asks for a provider that documents it, since it keeps everything else
// of the account back.
func (e *Error) Blame(f Fault) *Error {
	blamed := *e
	blamed.Fault = f
	return &blamed
}

// Suppressing returns a copy of e, a Permanent refusal, that blames the address and
// stops later messages to it, as a callback would. It asks for a provider that
// documents its answer as one about the address: it does not exist, or its owner wants
// no more.
func (e *Error) Suppressing(r SuppressionReason) *Error {
	blamed := e.Blame(FaultAddress)
	blamed.Suppress = r
	return blamed
}

// Permanent reports whether no retry will mend the error.
func (e *Error) Permanent() bool { return e.Class == ClassPermanent }

// Permanent says that the provider refused the message and would refuse it again: a bad
// address, a blocked sender. It blames no party; see [Error.Blame]. cause may be nil.
func Permanent(code string, cause error) *Error {
	return &Error{Class: ClassPermanent, Code: code, Err: cause}
}

// Transient says that the message was definitely not accepted and may be tried
// again, not before retryAfter has passed if that is set. cause may be nil.
func Transient(code string, retryAfter time.Duration, cause error) *Error {
	return &Error{Class: ClassTransient, Code: code, RetryAfter: retryAfter, Err: cause}
}

// Unknown says that the message may or may not have been accepted: the
// connection broke after the request had begun. cause may be nil.
func Unknown(code string, cause error) *Error {
	return &Error{Class: ClassUnknown, Code: code, Err: cause}
}

// Classify says what an error of [Channel.Send] means. A *[Error] in its
// chain speaks for itself; see [Channel] for the others. It returns nil for
// nil. Decorators of channels may use it.
func Classify(err error) *Error {
	var typed *Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &typed):
		return typed
	case isPanic(err):
		return Unknown("panic", err)
	case neverSent(err):
		return unconnected(err)
	case interrupted(err):
		return Unknown("interrupted", err)
	}
	return Transient("error", 0, err)
}

// unconnected is a failure to connect, which says nothing of the channel where we
// ended it ourselves.
func unconnected(err error) *Error {
	e := Transient("connect", 0, err)
	if errors.Is(err, context.Canceled) {
		return e
	}
	return e.Blame(FaultProvider)
}

func isPanic(err error) bool {
	var p *work.PanicError
	return errors.As(err, &p)
}

// neverSent reports errors that come before the first byte of a request.
func neverSent(err error) bool {
	var dns *net.DNSError
	var op *net.OpError
	return errors.As(err, &dns) || errors.As(err, &op) && op.Op == "dial" || isHandshake(err)
}

func isHandshake(err error) bool {
	var record tls.RecordHeaderError
	var cert *tls.CertificateVerificationError
	return errors.As(err, &record) || errors.As(err, &cert) ||
		strings.Contains(err.Error(), "TLS handshake timeout") // net/http does not export its type
}

// interrupted reports errors after which the provider may have the message.
func interrupted(err error) bool {
	var n net.Error
	for _, target := range []error{context.Canceled, context.DeadlineExceeded, io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(err, target) {
			return true
		}
	}
	return errors.As(err, &n) && n.Timeout()
}

// SuppressionReason says why an address gets no more messages.
type SuppressionReason string

// The reasons of a suppression. HardBounce stops everything to the address, Complaint all
// but what was Requested, Unsubscribe all but what is Mandatory.
const (
	HardBounce  SuppressionReason = "HardBounce"  // the address does not exist
	Complaint   SuppressionReason = "Complaint"   // the recipient called a message spam
	Unsubscribe SuppressionReason = "Unsubscribe" // the recipient wants no more
	// Erased stops everything, to an address or a Ref: the person was erased, and was not
	// admitted again.
	Erased SuppressionReason = "Erased"
)
