package notify

import (
	"encoding/json"
	"time"

	"github.com/belfry-go/belfry/storage"
)

// MaxEventData bounds a job's EventData in bytes; larger inputs are loaded by
// the renderer.
const MaxEventData = 4 << 10

// Job is a NotificationJob: one occasion to notify somebody, in the history of
// the entity that it is about. A caller of EnsureNotificationJob fills in the
// fields down to SourceOn, with Scope, Type (the notification type, required)
// and Lane of the Record; the others belong to the pipeline. All of them are
// written once.
type Job struct {
	storage.Record
	// PartitionKey is the entity where a person opens the history, RowKey the
	// job in it: keys.AutomationRowKey, keys.JobRow or a
	// keys.NotificationEvent. Both are required and kept as they are. A RowKey is
	// unique in its scope and not only in its partition, since messages are under it
	// alone: two jobs with the same one and the same recipient are a conflict.
	PartitionKey string `db:"partition_key,fixed"`
	RowKey       string `db:"row_key,fixed"`
	BusinessUnit string `db:"business_unit,fixed"`
	// EntityType and Entity name the primary entity.
	EntityType string `db:"entity_type,fixed"`
	Entity     string `db:"entity,fixed"`
	// EventData is what the renderer works on: JSON of at most MaxEventData
	// bytes, an entity id in the common case.
	EventData json.RawMessage `db:"event_data,fixed,json"`
	// Recipients are those that the caller resolved. A repeat of the call may
	// resolve others: the first ones stand.
	Recipients []Recipient `db:"recipients,fixed,json"`
	// InputHash says what the job stands for, 64 hex digits; another one under
	// the same key is a conflict. Empty: it is computed from the type, business
	// unit, entity and EventData.
	InputHash string `db:"input_hash,fixed"`
	// SourceKey is the scheduler key of the work that asked for the job; empty
	// for manual ones.
	SourceKey string `db:"source_key,fixed"`
	// SourceOn is the stable time of the occasion, which in-app messages are
	// sorted by; it must be equal in every repeat. Zero: the moment at which the
	// job was first stored.
	SourceOn time.Time `db:"source_on,fixed"`

	CreatedOn time.Time `db:"created_on,fixed"`
	// Frozen is what the first run of the generator made; later runs use it.
	Frozen frozenRef `db:"frozen,json"`
	Tries
	SupportHold
}

// A job of very many people is a campaign, whose recipients are in a blob.
var jobs = storage.Define[Job]("notification_job").Limit(1 << 20)

// Coordinates are where the job is found.
func (j *Job) Coordinates() Coordinates { return Coordinates{j.PartitionKey, j.RowKey} }
