package notify

import (
	"cmp"
	"context"
	"time"

	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage"
)

// EnsureMessagingJob makes sure of messaging jobs; see [DeliveryDispatcher].
// The payload's blob is complete before the call; the stored job keeps the
// first one. Immutable are the type, the business unit, the InputHash and the
// ContentHash.
func (n *Notifier) EnsureMessagingJob(ctx context.Context, tx storage.Tx, want ...MessagingJob) ([]Ensured, error) {
	return ensure(ctx, n, tx, messagingKind, want)
}

var messagingKind = &kind[MessagingJob]{
	artifact: ArtifactMessagingJob,
	table:    messagingJobs,
	fill:     fillMessagingJob,
	immutable: func(s, w *MessagingJob) []field {
		return []field{
			{"Type", s.Type, w.Type},
			{"BusinessUnit", s.BusinessUnit, w.BusinessUnit},
			{"InputHash", s.InputHash, w.InputHash},
			{"ContentHash", s.ContentHash, w.ContentHash},
		}
	},
	blobs:  func(j *MessagingJob) []storage.Ref { return []storage.Ref{j.Blob} },
	answer: func(j *MessagingJob) (Coordinates, string) { return Coordinates{j.GUID, j.GUID}, "" },
}

func fillMessagingJob(n *Notifier, now time.Time, j *MessagingJob) error {
	key, err := keys.Join(j.GUID)
	if err != nil {
		return err
	}
	if j.Type == "" {
		return errNoType
	}
	j.Record = fresh(j.Record, key, StatusCreated)
	j.Lane = n.registry.lane(j.Type, j.Lane)
	j.ContentHash = cmp.Or(j.ContentHash, j.Blob.SHA256)
	j.AudienceSize = max(j.AudienceSize, 0)
	j.CreatedOn, j.Generation, j.Tries, j.SupportHold = now, Generation{}, Tries{}, SupportHold{}
	return nil
}
