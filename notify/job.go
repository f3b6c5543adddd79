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
	"github.com/belfry-go/belfry/storage/driver"
)

// MaxEventData bounds a job's EventData in bytes; larger inputs are loaded by
// the renderer.
//
//spec:f-015
const MaxEventData = 4 << 10

// Job is a NotificationJob: one occasion to notify somebody, in the history of
// the entity that it is about. A caller of EnsureNotificationJob fills in the
// fields down to SourceOn, with Scope, Type (the notification type, required)
// and Lane of the Record; the others belong to the pipeline. All of them are
// written once.
//
//spec:f-015 f-017 f-037 n-028 n-032 n-033 n-034 n-039 r-021
type Job struct {
	storage.Record
	// PartitionKey is the entity where a person opens the history, RowKey the
	// job in it: keys.AutomationRowKey, keys.JobRow or a
	// keys.NotificationEvent. Both are required and kept as they are. A RowKey is
	// unique in its scope and not only in its partition, since messages are under it
	// alone: two jobs with the same one and the same recipient are a conflict.
	PartitionKey string `db:"partition_key,fixed,person"`
	RowKey       string `db:"row_key,fixed,person"`
	BusinessUnit string `db:"business_unit,fixed,plain"`
	// EntityType and Entity name the primary entity.
	EntityType string `db:"entity_type,fixed,plain"`
	Entity     string `db:"entity,fixed,person"`
	// EventData is what the renderer works on: JSON of at most MaxEventData
	// bytes, an entity id in the common case.
	EventData json.RawMessage `db:"event_data,fixed,json,content"`
	// Recipients are those that the caller resolved. A repeat of the call may
	// resolve others: the first ones stand.
	Recipients []Recipient `db:"recipients,fixed,json,address"`
	// InputHash says what the job stands for, 64 hex digits; another one under
	// the same key is a conflict. Empty: it is computed from the type, business
	// unit, entity and EventData.
	InputHash string `db:"input_hash,fixed,plain"`
	// SourceKey is the scheduler key of the work that asked for the job; empty
	// for manual ones.
	SourceKey string `db:"source_key,fixed,person"`
	// SourceOn is the stable time of the occasion, which in-app messages are
	// sorted by; it must be equal in every repeat. Zero: the moment at which the
	// job was first stored.
	SourceOn time.Time `db:"source_on,fixed"`

	CreatedOn time.Time `db:"created_on,fixed"`
	// Frozen is what the first run of the generator made; later runs use it.
	Frozen frozenRef `db:"frozen,json,content"`
	Tries
	SupportHold
}

// A job of very many people is a campaign, whose recipients are in a blob.
var jobs = driver.Define[Job]("notification_job").Grows(driver.WithWork).Limit(1 << 20)

// Coordinates are where the job is found.
func (j *Job) Coordinates() Coordinates { return Coordinates{j.PartitionKey, j.RowKey} }

func (j *Job) become(status string) {
	jobStates.Must(j.Status, status)
	j.Status = status
}

func (j *Job) generated(now time.Time) { j.end(now, StatusGenerated) }

func (j *Job) skipped(now time.Time, reason string) {
	j.end(now, StatusSkipped)
	j.ReasonCode = reason
}

func (j *Job) end(now time.Time, status string) {
	j.become(status)
	j.DueOn, j.NextRetryOn, j.EndedOn = time.Time{}, time.Time{}, now
}

// failed is the end of a try, whatever that try had already decided.
func (j *Job) failed(now time.Time, reason string) {
	j.Status, j.EndedOn = StatusGenerating, time.Time{}
	next, ok := j.Tries.failed(now, j.Key, reason)
	j.DueOn = next
	if ok {
		j.become(StatusReady)
		return
	}
	j.hold(now, HoldRetries)
}

// refused is a failure that another try would meet again.
func (j *Job) refused(now time.Time, reason string) {
	j.Status = StatusGenerating
	j.RetryCount++
	j.ReasonCode = reason
	j.hold(now, HoldRefused)
}

func (j *Job) hold(now time.Time, reason string) {
	j.end(now, StatusFailed)
	j.put(reason)
}

func (j *Job) abandoned(now time.Time) {
	j.LeaseLossCount++
	j.failed(now, ReasonLeaseLost)
}

func (j *Job) released(time.Time) { j.become(StatusReady) }

// conflicted stops a job whose messages stand for something else.
func (j *Job) conflicted() {
	j.ReasonCode = ReasonConflict
	j.put(HoldConflict)
}

// EnsureNotificationJob makes sure of jobs; see [DeliveryDispatcher]. A new job
// waits until its [Schedule] is due. Immutable are its type, business unit,
// entity and InputHash.
//
//spec:n-016
func (n *Notifier) EnsureNotificationJob(ctx context.Context, tx storage.Tx, want ...Job) ([]Ensured, error) {
	return ensure(ctx, n.core, tx, jobKind, want)
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

func fillJob(n *core, now time.Time, j *Job) error {
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

// AutomationJob is the thin trace of one run of due work in the history of its
// source (Automation & Reminders). It is written once and never scanned for
// work. A caller of EnsureAutomationJob fills in the fields down to
// ScheduledOn, with Scope and Type (the automation type) of the Record.
//
//spec:a-008 f-043
type AutomationJob struct {
	storage.Record
	// PartitionKey is the source entity, RowKey keys.AutomationRowKey.
	PartitionKey string `db:"partition_key,fixed,person"`
	RowKey       string `db:"row_key,fixed,person"`
	SchedulerKey string `db:"scheduler_key,fixed,person"`
	TriggerType  string `db:"trigger_type,fixed,plain"`
	BusinessUnit string `db:"business_unit,fixed,plain"`
	SourceType   string `db:"source_type,fixed,plain"`
	Source       string `db:"source,fixed,person"`
	Setting      string `db:"setting,fixed,plain"`
	InputHash    string `db:"input_hash,fixed,plain"`
	// Result is what the run led to.
	Result      DispatchResult `db:"result,fixed,json,content"`
	ScheduledOn time.Time      `db:"scheduled_on,fixed"`

	CreatedOn time.Time `db:"created_on,fixed"`
}

var automationJobs = driver.Define[AutomationJob]("automation_job").Grows(driver.WithWork)

// statusRecorded is the only state of rows that are written once.
const statusRecorded = "Recorded"

// EnsureAutomationJob makes sure of traces; see [DeliveryDispatcher]. The first
// one stands. Immutable are the type, the scheduler key and the InputHash.
//
//spec:n-015
func (n *Notifier) EnsureAutomationJob(ctx context.Context, tx storage.Tx, want ...AutomationJob) ([]Ensured, error) {
	return ensure(ctx, n.core, tx, automationKind, want)
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

func fillAutomationJob(_ *core, now time.Time, j *AutomationJob) error {
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

// AutomationJobs lists the runs of due work about one entity in the order of
// their keys, which is not the order of time: a page is sorted by whoever shows
// it. With a transaction it reads there, with nil in the bound one or in one of
// its own.
func (n *Notifier) AutomationJobs(ctx context.Context, tx storage.Tx, scope Scope, sourceType, source string, p storage.Page) ([]AutomationJob, string, error) {
	within, err := under(source)
	if err != nil {
		return nil, "", err
	}
	if tx != nil {
		n = n.WithTx(tx)
	}
	return list(ctx, n.core, automationJobs, scope, p, append(within, driver.Eq("source_type", sourceType)))
}
