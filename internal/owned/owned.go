// Package owned is what another domain and package notify agree on, so that notify sends
// messages of that domain: survey has it send its links. The domain makes a message when a
// send is due, and answers for it until it has ended.
package owned

import (
	"context"
	"time"

	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// Message is what an owner is told of one of its messages.
type Message struct {
	Scope     storage.Scope
	Key       string // made of a partition key and a row key, which the owner has chosen
	MessageID string
	Channel   string // that was called last, or is called next
	// Status is that of package notify, and ReasonCode why.
	Status, ReasonCode string
	// Waits says that a call may still come of it, InDoubt that it is unknown whether the last
	// one was accepted, Sent that one was or counts as such, Held that a person has to decide:
	// it does not only wait for a process that has its channel.
	Waits, InDoubt, Sent, Held bool
	// Assumed says that it counts as sent, and no provider has said so.
	Assumed bool
	// Calls counts the calls that were started, those of earlier messages among them, and
	// Tries the failures in a row.
	Calls, Tries                 int
	CallStartedOn, SentOn, DueOn time.Time
	LeaseExpiresOn               time.Time
	ProviderMessageID            string
}

// Called reports whether a worker that is alive calls its provider at this moment.
func (m *Message) Called(now time.Time) bool {
	return m.Waits && !m.CallStartedOn.IsZero() && m.LeaseExpiresOn.After(now)
}

// Claimed reports whether a worker that is alive has it.
func (m *Message) Claimed(now time.Time) bool { return m.LeaseExpiresOn.After(now) }

// Answer says of a claimed message what is to become of it.
type Answer struct {
	// Skip is why it is not sent any more; empty: it is. Until is when it is asked about
	// again, for Reason; zero: it goes out now.
	Skip   string
	Until  time.Time
	Reason string
	// Secret stands in each text of the message for StandIn, and Metadata is added to its
	// own, for its call alone: neither is stored with it.
	StandIn, Secret string
	Metadata        map[string]string
}

// Owner answers for the messages of a domain. It is called from several goroutines. It is
// given messages of any number of scopes, and answers for each in order.
type Owner interface {
	// Ask is asked about claimed messages before the gates are.
	Ask(ctx context.Context, all []Message) ([]Answer, error)
	// Bar says, in the transaction that notes that calls begin, which of them do not.
	Bar(ctx context.Context, tx storage.Tx, all []Message) ([]bool, error)
	// Changed hears in tx of messages that were written in it. It may hear of the same change
	// several times.
	Changed(ctx context.Context, tx storage.Tx, all []Message) error
	// Keeps says which messages are not to be deleted though they are old.
	Keeps(ctx context.Context, from driver.Reader, all []Message) ([]bool, error)
}

// Leaver is a recipient who wants no more messages of a group, or of a type if Group is
// empty, by a method.
type Leaver struct {
	Scope        storage.Scope
	Type, Group  string
	Method       string
	Ref, Address string // Ref is the host's id of the recipient, if it has one
	MessageID    string // whose link said so
}

// Sender is what an owner asks of package notify. A transaction that writes a message and
// the row that owns it writes the message first.
type Sender interface {
	// Ready is an error where messages cannot be made: the recipients of this database are
	// known under another key.
	Ready(ctx context.Context) error
	// Channels are the keys of the channels of this process.
	Channels() []string
	// Passes are those that bring messages to an end.
	Passes() []work.Pass
	// Find reads messages by their keys; those that there are not are left out.
	Find(ctx context.Context, from driver.Reader, places ...driver.ScopedKey) (map[driver.ScopedKey]Message, error)
	// End has no more calls come of messages, in tx, and returns how they are then. One that
	// is called at this moment stays as it is, and so does one that has ended. on is when they
	// ended, as far as their rows may say.
	End(ctx context.Context, tx storage.Tx, on time.Time, reason string, places ...driver.ScopedKey) (map[driver.ScopedKey]Message, error)
	// TakeForSent counts a message in doubt as sent, since a person says so.
	TakeForSent(ctx context.Context, tx storage.Tx, at driver.ScopedKey) (Message, error)
	// OptOut notes in tx what a recipient wants no more.
	OptOut(ctx context.Context, tx storage.Tx, who Leaver) error
}
