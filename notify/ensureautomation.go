package notify

import (
	"context"
	"time"

	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage"
)

// statusRecorded is the only state of rows that are written once.
const statusRecorded = "Recorded"

// EnsureAutomationJob makes sure of traces; see [DeliveryDispatcher]. The first
// one stands. Immutable are the type, the scheduler key and the InputHash.
func (n *Notifier) EnsureAutomationJob(ctx context.Context, tx storage.Tx, want ...AutomationJob) ([]Ensured, error) {
	return ensure(ctx, n, tx, automationKind, want)
}

var automationKind = &kind[AutomationJob]{
	artifact: ArtifactAutomationJob,
	table:    automationJobs,
	fill:     fillAutomationJob,
	immutable: func(s, w *AutomationJob) []field {
		return []field{
			{"Type", s.Type, w.Type},
			{"SchedulerKey", s.SchedulerKey, w.SchedulerKey},
			{"InputHash", s.InputHash, w.InputHash},
		}
	},
	answer: func(j *AutomationJob) (Coordinates, string) { return Coordinates{j.PartitionKey, j.RowKey}, "" },
}

func fillAutomationJob(_ *Notifier, now time.Time, j *AutomationJob) error {
	key, err := keys.Join(j.PartitionKey, j.RowKey)
	if err != nil {
		return err
	}
	if j.Type == "" {
		return errNoType
	}
	j.Record = fresh(j.Record, key, statusRecorded)
	j.CreatedOn = now
	return nil
}
