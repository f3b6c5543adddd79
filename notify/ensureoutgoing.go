package notify

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage"
)

// EnsureOutgoingMessage makes sure of messages to be sent; see
// [DeliveryDispatcher]. An address that cannot be normalised is an error.
// Immutable are the job, the recipient, the method, the type and the
// InputHash, and the ContentHash if both sides have one: the first rendering
// wins, and the send claim decides whether a provider is called.
func (n *Notifier) EnsureOutgoingMessage(ctx context.Context, tx storage.Tx, want ...OutgoingMessage) ([]Ensured, error) {
	if err := n.rightHashKey(ctx, tx); err != nil {
		return nil, err
	}
	return ensure(ctx, n, tx, outgoingKind, want)
}

var outgoingKind = &kind[OutgoingMessage]{
	artifact: ArtifactOutgoingMessage,
	table:    outgoingMessages,
	fill:     fillOutgoing,
	immutable: func(s, w *OutgoingMessage) []field {
		fields := []field{
			{"NotificationType", s.NotificationType, w.NotificationType},
			{"JobPartitionKey", s.JobPartitionKey, w.JobPartitionKey},
			{"Method", s.Method, w.Method},
			{"RecipientRef", redacted(s.RecipientRef), redacted(w.RecipientRef)},
			{"RecipientHash", s.RecipientHash, w.RecipientHash},
			{"InputHash", s.InputHash, w.InputHash},
		}
		return append(fields, bothOrNone("ContentHash", s.ContentHash, w.ContentHash)...)
	},
	blobs:  func(m *OutgoingMessage) []storage.Ref { return m.Content.blobs() },
	answer: func(m *OutgoingMessage) (Coordinates, string) { return m.Coordinates(), m.MessageID },
}

var (
	errNoChannel          = errors.New("Type, the channel key, is empty")
	errNoNotificationType = errors.New("NotificationType is empty")
)

// fillOutgoing is for messages of any caller; the generator's are filled from
// what it froze.
func fillOutgoing(n *Notifier, now time.Time, m *OutgoingMessage) (err error) {
	switch {
	case m.Type == "":
		return errNoChannel
	case m.NotificationType == "":
		return errNoNotificationType
	}
	m.Method = cmp.Or(m.Method, Method(m.Type))
	if m.Address, err = normalise(m.Method, m.Address); err != nil {
		return err
	}
	if m.RecipientHash == "" {
		m.RecipientHash = n.recipientHash(m.RecipientRef, m.Method, m.Address)
		m.HashKey = n.hashKey
	}
	m.CreatedOn = now
	t := n.registry.lookup(m.NotificationType)
	m.InDoubt, m.Mandatory = cmp.Or(m.InDoubt, t.InDoubt), m.Mandatory || t.Mandatory
	m.Lane = n.registry.lane(m.NotificationType, m.Lane)
	if err := m.Content.check(); err != nil {
		return err
	}
	return n.begin(m, StatusCreated)
}

// begin gives a complete message its key, its id and its first state.
func (n *Notifier) begin(m *OutgoingMessage, status string) (err error) {
	if m.RowKey == "" {
		if m.RowKey, err = keys.OutgoingMessageRow(m.RecipientHash, m.Method, m.AttemptNo); err != nil {
			return err
		}
	}
	key, err := keys.Join(m.PartitionKey, m.RowKey)
	if err != nil {
		return err
	}
	if m.MessageID == "" {
		if m.MessageID, err = n.newMessageID(); err != nil {
			return err
		}
	}
	m.Record = fresh(m.Record, key, status)
	m.reset()
	if status == StatusCreated {
		m.DueOn = later(m.ScheduledOn, m.CreatedOn)
	}
	return nil
}

// reset clears what belongs to the pipeline.
func (m *OutgoingMessage) reset() {
	m.Progress = Progress{}
	m.Tries, m.SupportHold = Tries{}, SupportHold{}
}

func (n *Notifier) recipientHash(ref, method, address string) string {
	return keys.RecipientHash(n.options.HashKey, ref, method, address)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return storage.Time(a)
	}
	return b
}
