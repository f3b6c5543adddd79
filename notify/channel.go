package notify

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

// Channel is one transport to one provider.
//
// Send is called from several goroutines at once, always after a claim of the
// message was committed, and at most once per claim. It makes at most one
// request that could deliver, never repeats it by itself, and returns soon
// after its context ends. It does not keep m.Metadata or change it, and does not
// change the data of attachments, which other messages share.
//
// An error tells what became of the message, since a retry depends on it:
//
//   - [Permanent]: the provider refused, and would refuse it again.
//   - [Transient]: the message was definitely not accepted; later it may be.
//   - [Unknown]: it may have been accepted.
//
// Its [Fault] tells what was wrong: the recipient's address, the message, or the
// channel itself.
//
// Any other error states "not accepted" and is taken as Transient, so that the
// message is sent again (return Unknown where that could be a second one), unless its
// chain holds a context error, a time-out, io.EOF, io.ErrUnexpectedEOF,
// ECONNRESET or EPIPE: those leave the outcome unknown. Failures to dial, to
// resolve a name and to shake hands for TLS are Transient even then, since
// nothing was sent, and blame the channel. A panic is Unknown.
//
//spec:n-002 t-007
type Channel interface {
	// Key names the channel: the delivery method, and behind a colon the
	// transport: "email:smtp", "sms:twilio". It never changes.
	Key() string
	// Send hands the message to the provider.
	Send(ctx context.Context, m Message) (Receipt, error)
}

// StatusLookup is a channel that can tell afterwards what became of a message
// whose call was interrupted. It is called from several goroutines at once.
type StatusLookup interface {
	// Lookup is given the message of the interrupted call. An error means that
	// the question could not be answered now.
	Lookup(ctx context.Context, m Message) (LookupResult, error)
}

// LookupResult is the answer of a [StatusLookup]. The zero value says that the
// provider does not know yet.
type LookupResult struct {
	Status  LookupStatus
	Receipt Receipt // of an accepted message
}

// LookupStatus says what a provider knows about a message.
type LookupStatus string

// The answers of a StatusLookup.
const (
	LookupUnknown  LookupStatus = ""         // cannot tell; it is asked again later
	LookupAccepted LookupStatus = "Accepted" // the provider has the message
	LookupAbsent   LookupStatus = "Absent"   // it has not, and never will by that call
)

// IdempotentSend is a channel whose provider accepts a message of the same ID
// only once, within a window after the first call. So a message in doubt may
// simply be sent again inside it.
type IdempotentSend interface {
	IdempotencyWindow() time.Duration
}

// Bounded is a channel that makes only so many calls at once, whose other callers
// wait inside Send. This process calls it no more often at a time, so that no message
// that only waited is in doubt after a crash.
type Bounded interface {
	// MaxCalls is at least one. It never changes.
	MaxCalls() int
}

// ChannelFunc makes a channel of a function. It panics on an empty key and on
// a nil function.
func ChannelFunc(key string, send func(context.Context, Message) (Receipt, error)) Channel {
	if key == "" || send == nil {
		panic("notify: ChannelFunc needs a key and a function")
	}
	return channelFunc{key, send}
}

type channelFunc struct {
	key  string
	send func(context.Context, Message) (Receipt, error)
}

func (c channelFunc) Key() string { return c.key }

func (c channelFunc) Send(ctx context.Context, m Message) (Receipt, error) { return c.send(ctx, m) }

// Method is the delivery method of a channel key: what stands before the first
// colon, such as "email".
func Method(channelKey string) string {
	method, _, _ := strings.Cut(channelKey, ":")
	return method
}

// Message is what a [Channel] sends: finished parts for one recipient. A
// channel adds nothing to them but what its transport needs.
//
//spec:t-064
type Message struct {
	// ID is random, stable over all attempts, and never a sequence, so it may be
	// shown to providers. It is the idempotency key and the file name, where a
	// channel has one.
	ID string
	// Channel is the key of the channel that was asked for.
	Channel string
	// To is the normalised address, Name the recipient's display name.
	To, Name string
	// Subject has no line breaks. Any part may be empty.
	Subject, Text, HTML string
	// Locale is the BCP 47 tag of the parts, if it is known.
	Locale string
	// Attempt counts the provider calls for this message, this one included: 1
	// is the first.
	Attempt int
	// On is the store's time at which this attempt began: the Date of a mail.
	On time.Time
	// Template is set where the provider holds the text itself. A channel that cannot
	// use it refuses the message with a Permanent error.
	Template ProviderTemplate
	// Metadata may be passed on to the provider, which gives it back in webhooks.
	Metadata map[string]string
	// Attachments are files and inline pictures, loaded for this call. A channel
	// that cannot send them refuses the message with a Permanent error.
	Attachments []Attachment
	// Mail is what only an e-mail has, with the copies that gates have let through. A
	// channel that cannot send all of it refuses the message with a Permanent error.
	Mail Mail
	// UnsubscribeURL takes one-click unsubscribes (RFC 8058); empty: there is none.
	// Mail channels put it into the headers.
	UnsubscribeURL string
}

// ProviderTemplate names a text that the provider holds, as WhatsApp requires.
// The zero value is none.
type ProviderTemplate struct {
	Name   string   `json:"name,omitempty"`
	Params []string `json:"params,omitempty"` // in the order of the template's placeholders
}

// Receipt is the provider's acceptance of a message.
//
//spec:t-065
type Receipt struct {
	// ID is the provider's id of the message; empty where there is none.
	ID string
	// Refused is how many of the copies the provider did not take, though it took the
	// message.
	Refused int
}

// SendClass says what an error of a provider call means for the message.
type SendClass string

// The classes of send errors; see [Channel].
const (
	ClassPermanent SendClass = "Permanent" // refused for good: FailedFinal
	ClassTransient SendClass = "Transient" // definitely not accepted: tried again
	ClassUnknown   SendClass = "Unknown"   // perhaps accepted: in doubt
)

// Fault is what was wrong when a provider did not accept a message.
type Fault string

// The faults of send errors. The zero value says that nobody knows.
const (
	// FaultAddress: the recipient cannot be reached there; others can.
	FaultAddress Fault = "Address"
	// FaultMessage: this message cannot be sent, to whomever; others can.
	FaultMessage Fault = "Message"
	// FaultChannel: nothing can be sent now, whatever it is: there is no connection, the
	// credentials are refused, the account is closed or over its rate.
	FaultChannel Fault = "Channel"
)

// SendError is an error of a provider call with its class. Channels make one
// with [Permanent], [Transient] or [Unknown].
//
//spec:t-065
type SendError struct {
	Class SendClass
	// Fault is what was wrong, as far as the channel can tell; see [SendError.Blame].
	Fault Fault
	// Code is the provider's short code, such as "550" or "throttled". It is
	// stored and logged, so it never holds an address or other personal data.
	Code string
	// RetryAfter is how long the provider asks to wait; zero means it does not
	// say. The usual back-off is the least in any case, a day the most.
	RetryAfter time.Duration
	// Suppress is why the address gets no more messages; empty: it is not known to be
	// at fault for good. See [SendError.Suppressing].
	Suppress SuppressionReason
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

// Blame returns a copy of e that says what was wrong. FaultChannel asks for a provider
// that documents it, since it keeps everything else of the channel back.
func (e *SendError) Blame(f Fault) *SendError {
	blamed := *e
	blamed.Fault = f
	return &blamed
}

// Suppressing returns a copy of e, a Permanent refusal, that blames the address and
// stops later messages to it, as a callback would. It asks for a provider that
// documents its answer as one about the address: it does not exist, or its owner wants
// no more.
func (e *SendError) Suppressing(r SuppressionReason) *SendError {
	blamed := e.Blame(FaultAddress)
	blamed.Suppress = r
	return blamed
}

// Permanent reports whether no retry will mend the error.
func (e *SendError) Permanent() bool { return e.Class == ClassPermanent }

// Permanent says that the provider refused the message and would refuse it
// again: a bad address, a blocked sender. It blames nobody; see [SendError.Blame].
// cause may be nil.
//
//spec:f-022
func Permanent(code string, cause error) *SendError {
	return &SendError{Class: ClassPermanent, Code: code, Err: cause}
}

// Transient says that the message was definitely not accepted and may be tried
// again, not before retryAfter has passed if that is set. cause may be nil.
//
//spec:f-022
func Transient(code string, retryAfter time.Duration, cause error) *SendError {
	return &SendError{Class: ClassTransient, Code: code, RetryAfter: retryAfter, Err: cause}
}

// Unknown says that the message may or may not have been accepted: the
// connection broke after the request had begun. cause may be nil.
func Unknown(code string, cause error) *SendError {
	return &SendError{Class: ClassUnknown, Code: code, Err: cause}
}

// Classify says what an error of [Channel.Send] means. A *[SendError] in its
// chain speaks for itself; see [Channel] for the others. It returns nil for
// nil. Decorators of channels may use it.
func Classify(err error) *SendError {
	var typed *SendError
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
func unconnected(err error) *SendError {
	e := Transient("connect", 0, err)
	if errors.Is(err, context.Canceled) {
		return e
	}
	return e.Blame(FaultChannel)
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
