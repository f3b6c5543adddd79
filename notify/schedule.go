package notify

import (
	"cmp"
	"time"

	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage"
)

// Schedule is a NotificationScheduler row: when an artifact is to be looked
// at. At most one exists for an artifact and event type, which is the dispatch
// guard (Communication - System architecture, "NotificationScheduler dispatch
// guard"). A caller of EnsureNotificationScheduler fills in the fields down to
// ScheduledOn, with Scope, Type (the notification type, required) and Lane of
// the Record; the others belong to the pipeline.
type Schedule struct {
	storage.Record
	// ArtifactType is ArtifactNotificationJob (also if empty) or
	// ArtifactMessagingJob. The partition key of a messaging job is its GUID,
	// and so is its row key.
	ArtifactType         Artifact `db:"artifact_type,fixed"`
	ArtifactPartitionKey string   `db:"artifact_partition_key,fixed"`
	ArtifactRowKey       string   `db:"artifact_row_key,fixed"`
	// EventType is the NotificationEventType; empty means the notification type.
	// It is mapped here, and never assumed to equal an entity event's type.
	EventType    string `db:"event_type,fixed"`
	BusinessUnit string `db:"business_unit,fixed"`
	// InputHash is checked if both sides have one.
	InputHash string `db:"input_hash,fixed"`
	// ScheduledOn is when the schedule is due; zero means at once. The first one
	// stands.
	ScheduledOn time.Time `db:"scheduled_on,fixed"`

	CreatedOn time.Time `db:"created_on,fixed"`
	Tries
	SupportHold
}

var schedules = storage.Define[Schedule]("notification_scheduler")

// ScheduleFor is the schedule of j at a moment; zero means at once.
func ScheduleFor(j Job, on time.Time) Schedule {
	return Schedule{
		Record:       storage.Record{Scope: j.Scope, Type: j.Type, Lane: j.Lane},
		ArtifactType: ArtifactNotificationJob, ArtifactPartitionKey: j.PartitionKey, ArtifactRowKey: j.RowKey,
		BusinessUnit: j.BusinessUnit, InputHash: j.InputHash, ScheduledOn: on,
	}
}

// Guard is the key of the row: the four parts of the dispatch guard, joined.
// The error is a *keys.PartError.
func (s *Schedule) Guard() (string, error) {
	artifact := cmp.Or(s.ArtifactType, ArtifactNotificationJob)
	return keys.Join(string(artifact), s.ArtifactPartitionKey, s.ArtifactRowKey, cmp.Or(s.EventType, s.Type))
}

// ScheduleForCampaign is the schedule of a messaging job at a moment; zero means
// at once.
func ScheduleForCampaign(j MessagingJob, on time.Time) Schedule {
	return Schedule{
		Record:       storage.Record{Scope: j.Scope, Type: j.Type, Lane: j.Lane},
		ArtifactType: ArtifactMessagingJob, ArtifactPartitionKey: j.GUID, ArtifactRowKey: j.GUID,
		BusinessUnit: j.BusinessUnit, InputHash: j.InputHash, ScheduledOn: on,
	}
}
