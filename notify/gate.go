package notify

import (
	"context"
	"encoding/hex"
	"strings"
	"time"

	"github.com/belfry-go/belfry/keys"
)

// Gate is asked about messages after their claim and before their provider is
// called, so that a crash in a gate leaves nothing in doubt. It is called from
// several goroutines, and by package survey as well as by a [Notifier].
//
// Ask answers for each attempt in order. A message that is told to wait, or not to
// be sent, keeps the reason; one that has waited is revalidated before it goes
// out. An error, a panic and an answer that is none (another number of verdicts,
// an unknown action) let nothing through: the messages are tried again with
// back-off, and then wait for a person.
//
// A gate that counts does so by MessageID and Number: the same attempt may be
// asked about again, after a crash or after another gate let it wait, and counts
// once. Where DryRun is set it only says what it would say, and counts and writes
// nothing.
type Gate interface {
	Ask(ctx context.Context, a []Attempt) ([]Verdict, error)
}

// GateFunc is a Gate that looks at one attempt at a time.
type GateFunc func(ctx context.Context, a Attempt) (Verdict, error)

// Ask calls f for each attempt.
func (f GateFunc) Ask(ctx context.Context, a []Attempt) ([]Verdict, error) {
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
	Scope     Scope
	MessageID string
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
	// Mandatory and Urgent are those of the [Type], as it was registered where the
	// message was made or is here. Whatever is in the urgent lane is Urgent.
	Mandatory, Urgent bool
	Now               time.Time
	DryRun            bool
}

// recipient tells people apart over all methods, as far as the host does.
func (a *Attempt) recipient() string {
	if a.RecipientRef == "" {
		return "hash:" + a.RecipientHash
	}
	return recipientOf(a.RecipientRef)
}

func recipientOf(ref string) string { return "ref:" + keyPart(ref) }

// keyPart is text as a part of a key; one that no key can hold is hashed, so that
// a strange message does not stop those beside it.
func keyPart(text string) string {
	if _, err := keys.Join(text); err != nil || len(text) > keys.MaxPartLen {
		sum := keys.Sum("belfry-key-part-1", text)
		return "sum " + hex.EncodeToString(sum[:])
	}
	return text
}

// joined are parts of which each is fit for a key.
func joined(parts ...string) string { return strings.Join(parts, "\x1f") }
