package notify

import (
	"context"
	"strings"
	"time"

	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage"
)

// EnsureUserMessage makes sure of in-app messages; see [DeliveryDispatcher].
// Immutable are the job, the recipient, the type and the InputHash, and the
// ContentHash if both sides have one: the first rendering wins.
func (n *Notifier) EnsureUserMessage(ctx context.Context, tx storage.Tx, want ...UserMessage) ([]Ensured, error) {
	return ensure(ctx, n, tx, userKind, want)
}

var userKind = &kind[UserMessage]{
	artifact: ArtifactUserMessage,
	table:    userMessages,
	fill:     fillUserMessage,
	immutable: func(s, w *UserMessage) []field {
		fields := []field{
			{"Type", s.Type, w.Type},
			{"JobPartitionKey", s.JobPartitionKey, w.JobPartitionKey},
			{"JobRowKey", s.JobRowKey, w.JobRowKey},
			{"RecipientRef", redacted(s.RecipientRef), redacted(w.RecipientRef)},
			{"InputHash", s.InputHash, w.InputHash},
		}
		return append(fields, bothOrNone("ContentHash", s.ContentHash, w.ContentHash)...)
	},
	blobs:  func(m *UserMessage) []storage.Ref { return m.Content.blobs() },
	answer: func(m *UserMessage) (Coordinates, string) { return Coordinates{m.PartitionKey, m.RowKey}, "" },
}

func fillUserMessage(_ *Notifier, now time.Time, m *UserMessage) (err error) {
	if !isInbox(m.PartitionKey) {
		return errInbox
	}
	if m.Type == "" {
		return errNoType
	}
	if m.RowKey == "" {
		if m.RowKey, err = keys.UserMessageRow(m.SourceOn, m.JobRowKey); err != nil {
			return err
		}
	}
	key, err := keys.Join(m.PartitionKey, m.RowKey)
	if err != nil {
		return err
	}
	m.Record = fresh(m.Record, key, StatusUnseen)
	m.CreatedOn, m.SeenOn, m.ReadOn, m.ArchivedOn = now, time.Time{}, time.Time{}, time.Time{}
	return m.Content.check()
}

func isInbox(partition string) bool {
	kind, id, _ := strings.Cut(partition, ":")
	return (kind == "user" || kind == "employee") && id != ""
}
