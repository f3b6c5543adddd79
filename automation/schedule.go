package automation

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/belfry-go/belfry/automation/dst"
	"github.com/belfry-go/belfry/internal/backoff"
	"github.com/belfry-go/belfry/internal/permanent"
	"github.com/belfry-go/belfry/internal/states"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage/driver"
)

// Schedule is one piece of work that has to happen at a moment, as it is stored
// (Automation & Reminders, "AutomationScheduler - source of truth"). It is a copy:
// changing it changes nothing.
type Schedule struct {
	Scope Scope
	// Key is the SchedulerKey.
	Key string
	// Type is the reminder type, type of report or type of the host that serves it.
	Type string
	// Status is one of the Status… constants.
	Status string
	Lane   int16
	// DueOn is when a worker looks at it; zero: none does.
	DueOn time.Time

	AutomationType string
	TriggerType    TriggerType
	BusinessUnit   string
	Person         string // whom it is about; empty: unknown
	Setting        string
	SourceType     string
	Source         string
	TriggerKey     string
	TargetDate     string // 2006-01-02; empty unless DateBased
	DaysBefore     int    // negative: after the date
	// At and Before are those of the candidate; zero unless InstantBased.
	At     time.Time
	Before time.Duration
	// InputHash is what the work stands for; see keys.Input. The same key with
	// another hash is a conflict.
	InputHash string
	CreatedOn time.Time

	// ScheduledOn is the moment in UTC; the five below say how it came about.
	ScheduledOn   time.Time
	LocalDate     string // 2006-01-02
	SendAt        string
	TimeZone      string
	GapPolicy     dst.GapPolicy
	OverlapPolicy dst.OverlapPolicy

	NextRetryOn    time.Time // zero unless a retry waits
	RetryCount     int
	LeaseLossCount int
	EndedOn        time.Time // zero while something may still happen by itself
	// EndedBecause is what the host said of the end, for people; see [Event].Because.
	EndedBecause string
	// ReasonCode says why it last failed or ended; it stays when the work is ensured
	// again.
	ReasonCode  Reason
	Diagnostics string // the last error, cut to 500 bytes

	IsOnSupportHold bool
	HoldReason      Reason
	HoldDetail      string

	// EventType and EventID name the event that last wrote it; both are empty if the
	// host ensured it directly.
	EventType string
	EventID   string

	// DispatchResult holds the coordinates of what was dispatched; see Dispatched.
	DispatchResult json.RawMessage
	TraceBlobName  string
	// ForgottenOn is when all but the key and the state was forgotten; zero: it was not.
	ForgottenOn time.Time
}

// Dispatched decodes DispatchResult. Without one it is the zero value.
func (s *Schedule) Dispatched() (notify.DispatchResult, error) {
	return dispatched(s.Key, s.DispatchResult)
}

// scheduleRow is a row of automation_scheduler. Its Key is the SchedulerKey, and
// its Kind the reminder type or the host's automation type that serves it. It stays
// small; whatever is large belongs into a blob.
type scheduleRow struct {
	driver.Due
	driver.Tombstone

	AutomationType string      `db:"automation_type,fixed,plain"`
	TriggerType    TriggerType `db:"trigger_type,fixed,plain"`
	BusinessUnit   string      `db:"business_unit,planned,plain"`
	Person         string      `db:"person,planned,null,indexed,person"`
	Setting        string      `db:"setting,fixed,indexed,plain"`
	SourceType     string      `db:"source_type,fixed,indexed,plain"`
	Source         string      `db:"source,fixed,indexed,person"`
	TriggerKey     string      `db:"trigger_key,fixed,plain"`
	TargetDate     string      `db:"target_date,planned,plain"` // 2006-01-02 if DateBased; the period of an occurrence; else empty
	DaysBefore     int         `db:"days_before,fixed"`         // negative: after the date
	// InputHash is what the row stands for; see keys.Input. The same key with
	// another hash is a conflict.
	InputHash string    `db:"input_hash,fixed,plain"`
	CreatedOn time.Time `db:"created_on,fixed,unclaimed"`

	// ScheduledOn is the moment in UTC; the five below say how it came about.
	ScheduledOn   time.Time         `db:"scheduled_on,planned"`
	LocalDate     string            `db:"scheduled_local_date,planned,plain"`
	SendAt        string            `db:"send_at,planned,plain"`
	TimeZone      string            `db:"time_zone,planned,plain"`
	GapPolicy     dst.GapPolicy     `db:"gap_policy,planned,plain"`
	OverlapPolicy dst.OverlapPolicy `db:"overlap_policy,planned,plain"`

	driver.Tries
	driver.SupportHold
	EndedBecause string `db:"ended_because,null,content"`
	Diagnostics  string `db:"diagnostics,content"` // the last error, cut to 500 bytes
	HoldDetail   string `db:"hold_detail,content"`

	// EventType and EventID name the event that last wrote the row; both are empty
	// if the host ensured it directly.
	EventType string `db:"event_type,planned,plain"`
	EventID   string `db:"event_id,planned,plain"`

	// DispatchResult holds the coordinates of what was dispatched; see Dispatched.
	DispatchResult json.RawMessage `db:"dispatch_result,json,null,content"`
	TraceBlobName  string          `db:"trace_blob_name,plain"`
}

// maxRow bounds a row; the documents ask for a small coordinator.
const maxRow = 8 << 10

// deciding are the columns of a stored row that decideAt and answer look at.
var deciding = []string{
	"kind", "status", "reason_code", "business_unit", "person", "input_hash", "is_on_support_hold", "hold_reason", "dispatch_result", "forgotten_on",
	"scheduled_on", "scheduled_local_date", "send_at", "time_zone", "gap_policy", "overlap_policy",
}

// schedules is the table of due work.
var schedules = driver.Define[scheduleRow]("automation_scheduler").Grows(driver.WithWork).
	Kept("Retention.Reminders", "a stub stays where the key may be asked for again, so that nothing is sent again").Limit(maxRow).Deciding(deciding...)

// view is what hosts get of the row.
func (r *scheduleRow) view() Schedule {
	at, _ := r.instant()
	return Schedule{
		Scope: r.Scope, Key: r.Key, Type: r.Kind, Status: r.Status, Lane: r.Lane, DueOn: r.DueOn,
		AutomationType: r.AutomationType, TriggerType: r.TriggerType, BusinessUnit: r.BusinessUnit, Person: r.Person, Setting: r.Setting,
		SourceType: r.SourceType, Source: r.Source, TriggerKey: r.TriggerKey, TargetDate: r.date(), DaysBefore: r.DaysBefore,
		At: at.Start, Before: at.Before,
		InputHash: r.InputHash, CreatedOn: r.CreatedOn,
		ScheduledOn: r.ScheduledOn, LocalDate: r.LocalDate, SendAt: r.SendAt, TimeZone: r.TimeZone,
		GapPolicy: r.GapPolicy, OverlapPolicy: r.OverlapPolicy,
		NextRetryOn: r.NextRetryOn, RetryCount: r.RetryCount, LeaseLossCount: r.LeaseLossCount, EndedOn: r.EndedOn, EndedBecause: r.EndedBecause,
		ReasonCode: r.ReasonCode, Diagnostics: r.Diagnostics,
		IsOnSupportHold: r.IsOnSupportHold, HoldReason: r.HoldReason, HoldDetail: r.HoldDetail,
		EventType: r.EventType, EventID: r.EventID, DispatchResult: r.DispatchResult, TraceBlobName: r.TraceBlobName,
		ForgottenOn: r.ForgottenOn,
	}
}

// date is the target date of a DateBased row.
func (r *scheduleRow) date() string {
	if r.recurs() {
		return ""
	}
	return r.TargetDate
}

// views are what hosts get of rows.
func views(rows []*scheduleRow) []Schedule {
	out := make([]Schedule, len(rows))
	for i, r := range rows {
		out[i] = r.view()
	}
	return out
}

// Dispatched decodes DispatchResult.
func (r *scheduleRow) Dispatched() (notify.DispatchResult, error) {
	return dispatched(r.Key, r.DispatchResult)
}

func dispatched(key string, result json.RawMessage) (notify.DispatchResult, error) {
	if len(result) == 0 {
		return notify.DispatchResult{}, nil
	}
	var d notify.DispatchResult // here: each call would allocate one that decodes
	if err := json.Unmarshal(result, &d); err != nil {
		return notify.DispatchResult{}, fmt.Errorf("automation: dispatch_result of %s: %w", key, err)
	}
	return d, nil
}

// mergeResult adds later to what is stored; nothing to nothing stays NULL. What
// cannot be decoded is replaced: the due pass holds such a row before it gets here.
func (r *scheduleRow) mergeResult(later notify.DispatchResult) {
	if len(r.DispatchResult) == 0 && later.IsZero() {
		return
	}
	stored, _ := r.Dispatched()
	text, err := json.Marshal(stored.Merge(later))
	if err != nil {
		panic(err) // it consists of texts
	}
	r.DispatchResult = text
}

// IsOpen reports whether something may still happen by itself: the row is due
// some day, or a worker has it.
func (r *scheduleRow) IsOpen() bool {
	return r.Status == StatusPending || r.Status == StatusProcessing
}

// dueOn is the next moment at which a worker looks at the row.
func (r *scheduleRow) dueOn() time.Time {
	switch {
	case !r.IsOpen() || r.IsOnSupportHold:
		return time.Time{}
	case r.NextRetryOn.After(r.ScheduledOn):
		return r.NextRetryOn
	}
	return r.ScheduledOn
}

// The statuses of a [Schedule].
const (
	StatusPending     = "Pending"     // waits for its moment, or for its next try
	StatusProcessing  = "Processing"  // held by a worker
	StatusCompleted   = "Completed"   // delivery work is queued, which does not mean that it arrived
	StatusFailed      = "Failed"      // tried in vain, on support hold
	StatusDeactivated = "Deactivated" // no longer wanted; see ReasonCode
	StatusCancelled   = "Cancelled"   // stopped by a person
)

// machine is the table of legal transitions; every method of a row that
// changes the status checks itself against it.
var machine = states.Machine{
	Name:  "Schedule",
	Start: []string{StatusPending, StatusDeactivated}, // the latter in shadow
	Edges: []states.Edge{
		{From: StatusPending, To: StatusProcessing, Event: "claimed"},
		{From: StatusProcessing, To: StatusCompleted, Event: "delivery work is queued"},
		{From: StatusProcessing, To: StatusPending, Event: "failure with back-off, lost lease, shutdown, support hold"},
		{From: StatusProcessing, To: StatusFailed, Event: "permanent error, or retries exhausted"},
		{From: StatusProcessing, To: StatusDeactivated, Event: "no longer valid when due, or an event under the worker"},
		{From: StatusProcessing, To: StatusCancelled, Event: "cancelled by support under the worker"},
		{From: StatusPending, To: StatusDeactivated, Event: "event"},
		{From: StatusPending, To: StatusCancelled, Event: "cancelled by support, or its person was erased"},
		{From: StatusFailed, To: StatusPending, Event: "ensured again, released or retried"},
		{From: StatusFailed, To: StatusDeactivated, Event: "event"},
		{From: StatusFailed, To: StatusCancelled, Event: "cancelled by support, or its person was erased"},
		{From: StatusDeactivated, To: StatusPending, Event: "ensured again, or retried by support"},
		{From: StatusDeactivated, To: StatusCancelled, Event: "cancelled by support, or its person was erased"},
		{From: StatusCancelled, To: StatusPending, Event: "released or retried by support, or ensured again without a hold"},
	},
	Terminal: []string{StatusCompleted},
}

// to changes the status, and whatever follows from it.
func (r *scheduleRow) to(now time.Time, status string) {
	machine.Must(r.Status, status)
	r.Status = status
	r.EndedOn, r.EndedBecause = time.Time{}, ""
	if !r.IsOpen() {
		r.EndedOn, r.NextRetryOn = now, time.Time{}
	}
	r.DueOn = r.dueOn()
}

// complete says that delivery work is queued where d says.
func (r *scheduleRow) complete(now time.Time, d notify.DispatchResult) {
	r.ReasonCode, r.Diagnostics = "", ""
	r.mergeResult(d)
	r.to(now, StatusCompleted)
}

// deactivate says that the work is no longer wanted. Under a worker it leaves
// lease and token alone; the new version makes the worker's settling stale.
func (r *scheduleRow) deactivate(now time.Time, why Reason) {
	r.ReasonCode = why
	r.to(now, StatusDeactivated)
}

// skip deactivates a row at its moment and keeps the reason with the results.
func (r *scheduleRow) skip(now time.Time, why Reason) {
	r.mergeResult(notify.DispatchResult{Path: notify.PathSkipped, SkippedReason: string(why)})
	r.deactivate(now, why)
}

// giveBack ends a claim without counting a try.
func (r *scheduleRow) giveBack(now time.Time) { r.to(now, StatusPending) }

// reactivate makes the row Pending again; attempts and diagnostics stay, and so
// does a hold.
func (r *scheduleRow) reactivate(now time.Time) {
	r.NextRetryOn = time.Time{}
	r.dropExpiredLease(now)
	r.to(now, StatusPending)
}

// dropExpiredLease keeps the next claim from counting a loss that was none: the
// lease was left by a worker whose row was ended meanwhile.
func (r *scheduleRow) dropExpiredLease(now time.Time) {
	if !r.LeaseExpiresOn.After(now) {
		r.LeaseExpiresOn, r.Abandoned = time.Time{}, false
	}
}

// Long-running types go on once a day after the usual steps, so many times.
const (
	dailyRetry   = 24 * time.Hour
	dailyRetries = 7
)

// fail records a failed try: the next one after 5 minutes, 15 minutes and an
// hour, then Failed and on hold (Automation & Reminders, "Processing"). The
// stored row is Processing, whatever a handler made of this copy.
func (r *scheduleRow) fail(now time.Time, err error, longRunning bool) {
	r.Diagnostics = storable(err.Error())
	why := reasons.HandlerFailed
	if isPanic(err) {
		why = reasons.HandlerPanicked
	}
	r.Status = StatusProcessing
	if permanent.Is(err) {
		r.RetryCount++
		r.ReasonCode = why
		r.giveUp(now, reasons.PermanentFailure)
		return
	}
	r.retry(now, why, longRunning)
}

// lose records that the lease of another worker ran out.
func (r *scheduleRow) lose(now time.Time, longRunning bool) {
	r.LeaseLossCount++
	r.retry(now, reasons.LeaseExpired, longRunning)
}

// undecodable gives up on a row that this version cannot read.
func (r *scheduleRow) undecodable(now time.Time, err error) {
	r.Diagnostics = storable(err.Error())
	r.ReasonCode = reasons.Undecodable
	r.giveUp(now, reasons.Undecodable)
}

func (r *scheduleRow) retry(now time.Time, why Reason, longRunning bool) {
	switch more := backoff.Usual.Failed(&r.Tries, now, r.Key, why); {
	case more:
	case longRunning && r.RetryCount <= len(backoff.Usual)+dailyRetries:
		r.NextRetryOn = now.Add(dailyRetry)
	default:
		r.giveUp(now, reasons.RetriesExhausted)
		return
	}
	r.to(now, StatusPending)
}

func (r *scheduleRow) giveUp(now time.Time, why Reason) {
	r.to(now, StatusFailed)
	r.hold(why, r.Diagnostics)
}
