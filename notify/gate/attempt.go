package gate

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-go/belfry/internal/storable"
	"github.com/belfry-go/belfry/storage"
)

// Gate is asked about messages after their claim and before their provider is
// called, so that a crash in a gate leaves nothing in doubt. It is called from
// several goroutines.
//
// Ask answers for each attempt in order. A message that is told to wait, or not to
// be sent, keeps the reason; one that has waited is revalidated before it goes
// out. An error, a panic and an answer that is none (another number of verdicts,
// an unknown action) let nothing through: the messages are tried again with
// back-off, and then wait for a person.
//
// A gate that counts does so by MessageID and Number: the same attempt may be
// asked about again, after a crash or after another gate let it wait, and counts
// once. Each copy of a mail (channel.Mail) is asked about beside it, as an attempt
// without a RecipientRef: one that is skipped or redirected is left out. Where DryRun
// is set it only says what it would say, and counts and writes nothing.
//
// One that has a method Name() string is called by that name in logs and errors.
type Gate interface {
	Ask(ctx context.Context, a []Attempt) ([]Verdict, error)
}

// Func is a Gate that looks at one attempt at a time.
type Func func(ctx context.Context, a Attempt) (Verdict, error)

// Ask calls f for each attempt.
func (f Func) Ask(ctx context.Context, a []Attempt) ([]Verdict, error) {
	out := make([]Verdict, len(a))
	for i := range a {
		v, err := f(ctx, a[i])
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, nil
}

// Attempt is a message that is about to be handed to a provider.
type Attempt struct {
	Scope     storage.Scope
	MessageID string
	// Reminds is the MessageID of the message that this one reminds of; caps do not
	// count one against the other. Empty: none.
	Reminds string
	// Number counts the provider calls, the one in question included: 1 is the
	// first.
	Number int

	NotificationType string
	BusinessUnit     string
	Channel, Method  string // "email:smtp", "email"
	// RecipientRef is the host's id of the recipient; it may be empty.
	// RecipientHash stands for it, the method and the address.
	RecipientRef, RecipientHash string
	Address                     string // normalised; never to be logged
	Zone                        string // IANA name; empty: not known
	Lane                        int16
	// Group, Mandatory, Requested and Urgent are those of the notify.Type, as it was registered
	// where the message was made or is here. All that is in the urgent lane is Urgent.
	// OptIn is that of the group.
	Group                               string
	OptIn, Mandatory, Requested, Urgent bool
	Now                                 time.Time
	DryRun                              bool
}

// Recipient tells people apart over all methods, as far as the host does. It fits
// the key of a row.
func (a *Attempt) Recipient() string {
	if a.RecipientRef == "" {
		return "hash:" + a.RecipientHash
	}
	return "ref:" + storable.KeyPart(a.RecipientRef)
}

// Key tells a call from all others: that of its channel, message and number. It fits
// the key of a row, and is what a gate counts once.
func (a *Attempt) Key() string {
	return strings.Join([]string{storable.KeyPart(a.Channel), storable.KeyPart(a.MessageID), strconv.Itoa(a.Number)}, "\x1f")
}

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

// Known reports whether the action is one of those above.
func (v Verdict) Known() bool {
	return v.Action == ActionProceed || v.Action == ActionDefer || v.Action == ActionSkip
}

// Proceed lets a message go out.
func Proceed() Verdict { return Verdict{} }

// Defer makes a message wait; no try is counted.
func Defer(until time.Time, reason string) Verdict {
	return Verdict{Action: ActionDefer, Until: until, Reason: reason}
}

// Skip ends a message unsent.
func Skip(reason string) Verdict { return Verdict{Action: ActionSkip, Reason: reason} }
