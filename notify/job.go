package notify

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// MaxEventData bounds a job's EventData in bytes; larger inputs are loaded by
// the renderer.
const MaxEventData = 4 << 10

// Job is a NotificationJob: one occasion to notify people, in the history of
// the entity that it is about. A caller of EnsureNotificationJob fills in the
// fields down to ValidUntil, of which Type and RowKey are required;
// the others are the answer of a list and ignored. All that a caller fills in is
// written once.
type Job struct {
	Scope Scope
	// Type is the notification type.
	Type string
	// Lane orders it among other work; zero leaves it to the type.
	Lane int16
	// RowKey says what makes it the same job: keys.AutomationRowKey, keys.JobRow, a
	// keys.NotificationEvent, or a text of the host's. It is
	// unique in its scope and not only in its partition, since messages are under it
	// alone: two jobs with the same one and the same recipient are a conflict.
	RowKey string
	// PartitionKey is the entity where a person opens the history. Empty: the
	// Entity, or the RowKey if there is none. It is part of the key: every repeat says
	// the same.
	PartitionKey string
	BusinessUnit string
	// EntityType and Entity name the primary entity.
	EntityType string
	Entity     string
	// EventData is what the renderer works on: JSON of at most MaxEventData
	// bytes, an entity id in the common case.
	EventData json.RawMessage
	// Recipients are those that the caller resolved. A repeat of the call may
	// resolve others: the first ones stand, until [Notifier.AddRecipients].
	Recipients []Recipient
	// InputHash says what the job stands for, 64 hex digits; another one under
	// the same key is a conflict. Empty: it is computed from the type, business
	// unit, entity and EventData, in any order and spelling that says the same.
	InputHash string
	// SourceKey is the scheduler key of the work that asked for the job; empty
	// for manual ones.
	SourceKey string
	// SourceOn is the stable time of the occasion, which in-app messages are
	// sorted by; it must be equal in every repeat. Zero: the moment at which the
	// job was first stored.
	SourceOn time.Time
	// ValidUntil is from when on its messages are not sent any more, such as the end of
	// what a reminder is about; zero: what the type says.
	ValidUntil time.Time

	// Key is the stored identity, which Release and Cancel take.
	Key string
	// Status is one of the Status… constants.
	Status string
	// DueOn is when the generator looks at the job; zero: it does not.
	DueOn     time.Time
	CreatedOn time.Time
	// ForgottenOn is when all but the key and the state was forgotten; zero: it was not.
	ForgottenOn time.Time
	// Diagnostics is the error of the last try that could not render it, at most 500 bytes.
	// It may quote personal data.
	Diagnostics string
	driver.Tries
	driver.SupportHold

	// Entries are the jobs that a digest tells, by their SourceOn, at most 100, each with
	// the recipient whom it is told; the job itself, where its type has a [Digest] and
	// there is one alone. More is how many follow, as far as 10,000 are counted. They are
	// there for renderers only.
	Entries []Job
	More    int
}

// Coordinates are where the job is found.
func (j *Job) Coordinates() Coordinates {
	return Coordinates{cmp.Or(j.PartitionKey, j.Entity, j.RowKey), j.RowKey}
}

// jobRow has the columns of a [Job].
type jobRow struct {
	tried[ofJobs]
	driver.Tombstone
	PartitionKey string          `db:"partition_key,fixed,person"`
	RowKey       string          `db:"row_key,fixed,person"`
	BusinessUnit string          `db:"business_unit,fixed,plain"`
	EntityType   string          `db:"entity_type,fixed,plain"`
	Entity       string          `db:"entity,fixed,person"`
	EventData    json.RawMessage `db:"event_data,fixed,json,content"`
	Recipients   []Recipient     `db:"recipients,fixed,json,address"`
	InputHash    string          `db:"input_hash,fixed,plain"`
	SourceKey    string          `db:"source_key,fixed,person"`
	SourceOn     time.Time       `db:"source_on,fixed"`
	ValidUntil   time.Time       `db:"valid_until,fixed"`

	Diagnostics string `db:"diagnostics,null,content"`

	CreatedOn time.Time `db:"created_on,fixed"`
	DigestOn  time.Time `db:"digest_on,fixed"` // of a digest: the moment that it waits for
	// Frozen is what the first run of the generator made; later runs use it.
	Frozen frozenRef `db:"frozen,json,content"`
	// TracedOn is since when messages lead from each of its recipients to the job; zero:
	// an erasure looks through it.
	TracedOn time.Time `db:"traced_on"`
}

// A job of very many people is a campaign, whose recipients are in a blob.
var jobs = driver.Define[jobRow]("notification_job").Grows(driver.WithWork).
	Kept("Retention.Messages", "a stub stays, so that the same job asked for again sends nothing").Limit(1 << 20)

// row has what a caller chooses.
func (j *Job) row() jobRow {
	at := j.Coordinates()
	return jobRow{
		tried:        tried[ofJobs]{Due: driver.Due{Record: storage.Record{Scope: j.Scope, Kind: j.Type}, Lane: j.Lane}},
		PartitionKey: at.PartitionKey, RowKey: at.RowKey, BusinessUnit: j.BusinessUnit,
		EntityType: j.EntityType, Entity: j.Entity, EventData: j.EventData, Recipients: j.Recipients,
		InputHash: j.InputHash, SourceKey: j.SourceKey, SourceOn: j.SourceOn, ValidUntil: j.ValidUntil,
	}
}

func (j *jobRow) view() Job {
	at := j.Coordinates()
	return Job{
		Scope: j.Scope, Type: j.Kind, Lane: j.Lane,
		PartitionKey: at.PartitionKey, RowKey: at.RowKey, BusinessUnit: j.BusinessUnit,
		EntityType: j.EntityType, Entity: j.Entity, EventData: j.EventData, Recipients: j.Recipients,
		InputHash: j.InputHash, SourceKey: j.SourceKey, SourceOn: j.SourceOn, ValidUntil: j.ValidUntil,
		Key: j.Key, Status: j.Status, DueOn: j.DueOn, CreatedOn: j.CreatedOn, ForgottenOn: j.ForgottenOn, Diagnostics: j.Diagnostics,
		Tries: j.Tries, SupportHold: j.SupportHold,
	}
}

// until is from when on messages of the job are not sent any more, where it says so. What
// has to be told is told all the same after the end of what a reminder is about.
func (j *jobRow) until(t Type) time.Time {
	if t.Mandatory {
		switch of, _ := keys.Parse(j.SourceKey); of.(type) {
		case keys.Reminder, keys.Instant:
			return time.Time{}
		}
	}
	return j.ValidUntil
}

// stale reports whether nothing of the job is of use any more.
func (j *jobRow) stale(now time.Time, t Type) bool {
	until := j.until(t)
	return !until.IsZero() && !now.Before(until)
}

// Coordinates are where the job is found.
func (j *jobRow) Coordinates() Coordinates { return coordinates(j.Key, j.PartitionKey, j.RowKey) }

func (j *jobRow) generated(now time.Time) { j.end(now, StatusGenerated) }

// digested ends a job whose recipients wait for digests.
func (j *jobRow) digested(now time.Time) { j.end(now, StatusDigested) }

// conflicted stops a job whose messages stand for something else.
func (j *jobRow) conflicted() {
	j.ReasonCode = reasons.Conflict
	j.SupportHold = onHold(reasons.Conflict)
}

// EnsureNotificationJob makes sure of jobs; see [DeliveryDispatcher]. A new job
// waits until its [Schedule] is due. Immutable are its type, business unit,
// entity and InputHash.
func (n *Notifier) EnsureNotificationJob(ctx context.Context, tx storage.Tx, want ...Job) ([]Ensured, error) {
	var asked, types []string
	for i := range want {
		types = append(types, want[i].Type)
		for _, r := range want[i].Recipients {
			asked = append(asked, r.Channel)
		}
	}
	n.warnOfStrangers(ctx, asked)
	n.warnOfTypes(ctx, types...)
	return ensure(ctx, n.core, tx, jobKind, want, (*Job).row)
}

var jobKind = &kind[jobRow]{
	artifact: ArtifactNotificationJob,
	table:    jobs,
	fill:     fillJob,
	immutable: func(s, w *jobRow) []field {
		if s.IsErased() {
			return nil
		}
		fields := []field{{"Type", s.Kind, w.Kind}}
		if !s.IsTombstone() {
			fields = append(fields,
				field{"BusinessUnit", s.BusinessUnit, w.BusinessUnit},
				field{"EntityType", s.EntityType, w.EntityType},
				field{"Entity", s.Entity, w.Entity},
			)
		}
		return append(fields, s.inputField(w))
	},
	left:   func(s, w *jobRow) []Recipient { return s.without(w.Recipients) },
	answer: func(j *jobRow) (Coordinates, string) { return j.Coordinates(), "" },
}

func fillJob(n *core, now time.Time, j *jobRow) error {
	if j.RowKey == "" {
		return errNoRowKey
	}
	key, err := keys.Join(j.PartitionKey, j.RowKey)
	if err != nil {
		return err
	}
	if j.Kind == "" {
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
	j.Due = freshDue(j.Due, key, StatusCreated)
	j.Lane = n.registry.lane(j.Kind, j.Lane)
	if j.InputHash == "" {
		if j.InputHash, err = j.defaultHash(); err != nil {
			return fmt.Errorf("EventData: %w", err)
		}
	}
	if j.SourceOn.IsZero() {
		j.SourceOn = now
	}
	j.CreatedOn = now
	return nil
}

// compactJSON checks EventData and drops its white space.
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
// ScheduledOn, of which Type, PartitionKey and RowKey are required; the others are
// the answer of a list and ignored.
type AutomationJob struct {
	Scope Scope
	// Type is the automation type.
	Type string
	// Lane is that of the work.
	Lane int16
	// PartitionKey is the source entity, RowKey keys.AutomationRowKey.
	PartitionKey string
	RowKey       string
	SchedulerKey string
	TriggerType  string
	BusinessUnit string
	SourceType   string
	Source       string
	Setting      string
	InputHash    string
	// Result is what the run led to.
	Result      DispatchResult
	ScheduledOn time.Time

	Key       string // the stored identity
	CreatedOn time.Time
}

// automationJobRow has the columns of an [AutomationJob].
type automationJobRow struct {
	storage.Record
	PartitionKey string         `db:"partition_key,fixed,person"`
	RowKey       string         `db:"row_key,fixed,person"`
	SchedulerKey string         `db:"scheduler_key,fixed,person"`
	TriggerType  string         `db:"trigger_type,fixed,plain"`
	BusinessUnit string         `db:"business_unit,fixed,plain"`
	SourceType   string         `db:"source_type,fixed,plain"`
	Source       string         `db:"source,fixed,person"`
	Setting      string         `db:"setting,fixed,plain"`
	InputHash    string         `db:"input_hash,fixed,plain"`
	Result       DispatchResult `db:"result,fixed,json,content"`
	ScheduledOn  time.Time      `db:"scheduled_on,fixed"`
	Lane         int16          `db:"lane,fixed"`

	CreatedOn time.Time `db:"created_on,fixed"`
}

var automationJobs = driver.Define[automationJobRow]("automation_job").Grows(driver.WithWork).
	Kept("Retention.Reminders", "the history of a source; made again, it sends nothing")

// row has what a caller chooses.
func (j *AutomationJob) row() automationJobRow {
	return automationJobRow{
		Record: storage.Record{Scope: j.Scope, Kind: j.Type}, Lane: j.Lane,
		PartitionKey: j.PartitionKey, RowKey: j.RowKey, SchedulerKey: j.SchedulerKey, TriggerType: j.TriggerType,
		BusinessUnit: j.BusinessUnit, SourceType: j.SourceType, Source: j.Source, Setting: j.Setting,
		InputHash: j.InputHash, Result: j.Result, ScheduledOn: j.ScheduledOn,
	}
}

func (j *automationJobRow) view() AutomationJob {
	return AutomationJob{
		Scope: j.Scope, Type: j.Kind, Lane: j.Lane,
		PartitionKey: j.PartitionKey, RowKey: j.RowKey, SchedulerKey: j.SchedulerKey, TriggerType: j.TriggerType,
		BusinessUnit: j.BusinessUnit, SourceType: j.SourceType, Source: j.Source, Setting: j.Setting,
		InputHash: j.InputHash, Result: j.Result, ScheduledOn: j.ScheduledOn,
		Key: j.Key, CreatedOn: j.CreatedOn,
	}
}

// statusRecorded is the only state of rows that are written once.
const statusRecorded = "Recorded"

// EnsureAutomationJob makes sure of traces; see [DeliveryDispatcher]. The first
// one stands. Immutable are the type, the scheduler key and the InputHash.
func (n *Notifier) EnsureAutomationJob(ctx context.Context, tx storage.Tx, want ...AutomationJob) ([]Ensured, error) {
	return ensure(ctx, n.core, tx, automationKind, want, (*AutomationJob).row)
}

var automationKind = &kind[automationJobRow]{
	artifact: ArtifactAutomationJob,
	table:    automationJobs,
	fill:     fillAutomationJob,
	immutable: func(s, w *automationJobRow) []field {
		return []field{
			{"Type", s.Kind, w.Kind},
			{"SchedulerKey", s.SchedulerKey, w.SchedulerKey},
			{"InputHash", s.InputHash, w.InputHash},
		}
	},
	answer: func(j *automationJobRow) (Coordinates, string) { return Coordinates{j.PartitionKey, j.RowKey}, "" },
}

func fillAutomationJob(_ *core, now time.Time, j *automationJobRow) error {
	key, err := keys.Join(j.PartitionKey, j.RowKey)
	if err != nil {
		return err
	}
	if j.Kind == "" {
		return errNoType
	}
	j.Record = fresh(j.Record, key, statusRecorded)
	j.CreatedOn = now
	return nil
}

// AutomationJobs lists the runs of due work about one entity in the order of
// their keys, which is not the order of time: a page is sorted by the caller that shows
// it. With a transaction it reads there, with nil in the bound one if there is one.
func (n *Notifier) AutomationJobs(ctx context.Context, tx storage.Tx, scope Scope, sourceType, source string, p storage.Page) ([]AutomationJob, string, error) {
	within, err := under(source)
	if err != nil {
		return nil, "", err
	}
	if tx != nil {
		n = n.WithTx(tx)
	}
	return list(ctx, n.core, automationJobs, scope, p, append(within, driver.Eq("source_type", sourceType)), (*automationJobRow).view)
}
