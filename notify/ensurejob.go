package notify

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage"
)

// EnsureNotificationJob makes sure of jobs; see [DeliveryDispatcher]. A new job
// waits until its [Schedule] is due. Immutable are its type, business unit,
// entity and InputHash.
func (n *Notifier) EnsureNotificationJob(ctx context.Context, tx storage.Tx, want ...Job) ([]Ensured, error) {
	return ensure(ctx, n, tx, jobKind, want)
}

var jobKind = &kind[Job]{
	artifact: ArtifactNotificationJob,
	table:    jobs,
	fill:     fillJob,
	immutable: func(s, w *Job) []field {
		return []field{
			{"Type", s.Type, w.Type},
			{"BusinessUnit", s.BusinessUnit, w.BusinessUnit},
			{"EntityType", s.EntityType, w.EntityType},
			{"Entity", s.Entity, w.Entity},
			{"InputHash", s.InputHash, w.InputHash},
		}
	},
	answer: func(j *Job) (Coordinates, string) { return j.Coordinates(), "" },
}

func fillJob(n *Notifier, now time.Time, j *Job) error {
	key, err := keys.Join(j.PartitionKey, j.RowKey)
	if err != nil {
		return err
	}
	if j.Type == "" {
		return errNoType
	}
	if j.EventData, err = compactJSON(j.EventData); err != nil {
		return err
	}
	for i, r := range j.Recipients {
		if err := r.check(); err != nil {
			return fmt.Errorf("recipient %d: %w", i+1, err)
		}
	}
	j.Record = fresh(j.Record, key, StatusCreated)
	j.Lane = n.registry.lane(j.Type, j.Lane)
	if j.InputHash == "" {
		sum := keys.Sum("belfry-job-1", j.Type, j.BusinessUnit, j.EntityType, j.Entity, string(j.EventData))
		j.InputHash = hex.EncodeToString(sum[:])
	}
	if j.SourceOn.IsZero() {
		j.SourceOn = now
	}
	j.CreatedOn, j.Frozen, j.Tries, j.SupportHold = now, frozenRef{}, Tries{}, SupportHold{}
	return nil
}

// compactJSON gives EventData its one spelling, so that white space makes no
// other hash.
func compactJSON(data json.RawMessage) (json.RawMessage, error) {
	if len(data) == 0 {
		return json.RawMessage("null"), nil
	}
	var out bytes.Buffer
	if err := json.Compact(&out, data); err != nil {
		return nil, fmt.Errorf("EventData: %w", err)
	}
	if out.Len() > MaxEventData {
		return nil, fmt.Errorf("EventData has %d bytes, more than %d; name the entity and let the renderer load it", out.Len(), MaxEventData)
	}
	return out.Bytes(), nil
}
