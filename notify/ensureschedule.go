package notify

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/belfry-go/belfry/storage"
)

// EnsureNotificationScheduler makes sure of schedules; see
// [DeliveryDispatcher]. The dispatch guard is the key: one schedule for an
// artifact and event type. Immutable are the type, the business unit and the
// InputHash, if both sides have one.
func (n *Notifier) EnsureNotificationScheduler(ctx context.Context, tx storage.Tx, want ...Schedule) ([]Ensured, error) {
	return ensure(ctx, n, tx, scheduleKind, want)
}

var scheduleKind = &kind[Schedule]{
	artifact: ArtifactNotificationScheduler,
	table:    schedules,
	fill:     fillSchedule,
	immutable: func(s, w *Schedule) []field {
		fields := []field{
			{"Type", s.Type, w.Type},
			{"BusinessUnit", s.BusinessUnit, w.BusinessUnit},
		}
		return append(fields, bothOrNone("InputHash", s.InputHash, w.InputHash)...)
	},
	answer: func(s *Schedule) (Coordinates, string) {
		return Coordinates{s.ArtifactPartitionKey, s.ArtifactRowKey}, ""
	},
}

func fillSchedule(n *Notifier, now time.Time, s *Schedule) error {
	if s.Type == "" {
		return errNoType
	}
	s.ArtifactType = cmp.Or(s.ArtifactType, ArtifactNotificationJob)
	if s.ArtifactType != ArtifactNotificationJob && s.ArtifactType != ArtifactMessagingJob {
		return fmt.Errorf("ArtifactType %q is neither %s nor %s", s.ArtifactType, ArtifactNotificationJob, ArtifactMessagingJob)
	}
	s.EventType = cmp.Or(s.EventType, s.Type)
	key, err := s.Guard()
	if err != nil {
		return err
	}
	if s.ScheduledOn.IsZero() {
		s.ScheduledOn = now
	}
	s.Record = fresh(s.Record, key, StatusReady)
	s.Lane = n.registry.lane(s.Type, s.Lane)
	s.ScheduledOn = storage.Time(s.ScheduledOn)
	s.DueOn = s.ScheduledOn
	s.CreatedOn, s.Tries, s.SupportHold = now, Tries{}, SupportHold{}
	return nil
}

// bothOrNone compares a field only where both sides have it.
func bothOrNone(name, stored, wanted string) []field {
	if stored == "" || wanted == "" {
		return nil
	}
	return []field{{name, stored, wanted}}
}
