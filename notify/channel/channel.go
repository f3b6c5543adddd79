package channel

import (
	"context"
	"strings"
	"time"
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
// Its [Fault] tells what was wrong: the recipient's address, the message, the account or
// the provider.
//
// Any other error states "not accepted" and is taken as Transient, so that the
// message is sent again (return Unknown where that could be a second one), unless its
// chain holds a context error, a time-out, io.EOF, io.ErrUnexpectedEOF,
// ECONNRESET or EPIPE: those leave the outcome unknown. Failures to dial, to
// resolve a name and to shake hands for TLS are Transient even then, since
// nothing was sent, and blame the provider. A panic is Unknown.
type Channel interface {
	// Key names the channel: the delivery method, and behind a colon the
	// transport: "email:smtp", "sms:twilio". It never changes.
	Key() string
	// Send hands the message to the provider.
	Send(ctx context.Context, m Message) (Receipt, error)
}

type function struct {
	key  string
	send func(context.Context, Message) (Receipt, error)
}

// Func makes a channel of a function. It panics on an empty key and on
// a nil function.
func Func(key string, send func(context.Context, Message) (Receipt, error)) Channel {
	if key == "" || send == nil {
		panic("channel: Func needs a key and a function")
	}
	return function{key, send}
}

func (c function) Key() string { return c.key }

func (c function) Send(ctx context.Context, m Message) (Receipt, error) { return c.send(ctx, m) }

// StatusLookup is a channel that can tell afterwards what became of a message
// whose call was interrupted. It is called from several goroutines at once.
type StatusLookup interface {
	// Lookup is given the message of the interrupted call. An error means that
	// the question could not be answered now.
	Lookup(ctx context.Context, m Message) (LookupResult, error)
	// LookupWindow is for how long after a call the provider can tell: it forgets messages,
	// and from then on that it does not find one says nothing. Zero: for ever. It never
	// changes.
	LookupWindow() time.Duration
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

// BatchSend is a channel whose provider takes several messages by one request and
// answers for each. What is claimed together and has no files goes together; a call never
// waits for more messages. A process that is killed leaves all messages of a call in doubt,
// so it is for providers that end a doubt by themselves: one whose [IdempotentSend] knows
// requests and not messages must not have it.
type BatchSend interface {
	// MaxBatch is how many messages one call may have; below 2 there are no batches. It
	// never changes.
	MaxBatch() int
	// SendBatch is Send for at least two messages. The results have their order. An error
	// is that of the whole call, and so of each message.
	SendBatch(ctx context.Context, m []Message) ([]BatchResult, error)
}

// BatchResult is what became of one message of a batch: what [Channel].Send returns.
type BatchResult struct {
	Receipt Receipt
	Err     error
}

// Bounded is a channel that makes only so many calls at once, whose other callers
// wait inside Send. This process calls it no more often at a time, so that no message
// that only waited is in doubt after a crash.
type Bounded interface {
	// MaxCalls is at least one. It never changes.
	MaxCalls() int
}

// Method is the delivery method of a channel key: what stands before the first
// colon, such as "email".
func Method(channelKey string) string {
	method, _, _ := strings.Cut(channelKey, ":")
	return method
}
