package automation

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/belfry-go/belfry/internal/states"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
)

// Schedule is a row of automation_scheduler: one piece of work that has to
// happen at a moment (Automation & Reminders, "AutomationScheduler - source of
// truth"). Its Key is the SchedulerKey, and its Type the reminder type or the
// host's automation type that serves it. It stays small; whatever is large
// belongs into a blob.
type Schedule struct {
	storage.Record

	AutomationType string      `db:"automation_type,fixed"`
	TriggerType    TriggerType `db:"trigger_type,fixed"`
	BusinessUnit   string      `db:"business_unit,fixed"`
	Setting        string      `db:"setting,fixed"`
	SourceType     string      `db:"source_type,fixed"`
	Source         string      `db:"source,fixed"`
	TriggerKey     string      `db:"trigger_key,fixed"`
	TargetDate     string      `db:"target_date,fixed"` // 2006-01-02; empty unless DateBased
	DaysBefore     int         `db:"days_before,fixed"` // negative: after the date
	// InputHash is what the row stands for; see keys.Input. The same key with
	// another hash is a conflict.
	InputHash string `db:"input_hash,fixed"`
	// Fingerprint is a digest of the row as it was ensured; see storage.Table.Fingerprint.
	Fingerprint int64     `db:"fingerprint,fixed"`
	CreatedOn   time.Time `db:"created_on,fixed,unclaimed"`

	// ScheduledOn is the moment in UTC; the five below say how it came about.
	ScheduledOn   time.Time     `db:"scheduled_on,planned"`
	LocalDate     string        `db:"scheduled_local_date,planned"`
	SendAt        string        `db:"send_at,planned"`
	TimeZone      string        `db:"time_zone,planned"`
	GapPolicy     GapPolicy     `db:"gap_policy,planned"`
	OverlapPolicy OverlapPolicy `db:"overlap_policy,planned"`

	NextRetryOn    time.Time `db:"next_retry_on"` // zero unless a retry waits
	RetryCount     int       `db:"retry_count"`
	LeaseLossCount int       `db:"lease_loss_count"`
	EndedOn        time.Time `db:"ended_on"` // zero while the row is open
	// ReasonCode says why the row last failed or ended; it stays when the row is
	// ensured again.
	ReasonCode  Reason `db:"reason_code"`
	Diagnostics string `db:"diagnostics"` // the last error, cut to 500 bytes

	IsOnSupportHold bool   `db:"is_on_support_hold"`
	HoldReason      Reason `db:"hold_reason"`
	HoldDetail      string `db:"hold_detail"`

	// EventType and EventID name the event that last wrote the row; both are empty
	// if the host ensured it directly.
	EventType string `db:"event_type,planned"`
	EventID   string `db:"event_id,planned"`

	// DispatchResult holds the coordinates of what was dispatched; see Dispatched.
	DispatchResult json.RawMessage `db:"dispatch_result,json,null"`
	TraceBlobName  string          `db:"trace_blob_name"`
}

// maxRow bounds a row; the documents ask for a small coordinator.
const maxRow = 8 << 10

// deciding are the columns of a stored row that decideAt and answer look at.
var deciding = []string{
	"type", "status", "input_hash", "is_on_support_hold", "hold_reason", "dispatch_result",
	"scheduled_on", "scheduled_local_date", "send_at", "time_zone", "gap_policy", "overlap_policy",
}

// schedules is the table of due work.
var schedules = storage.Define[Schedule]("automation_scheduler").Limit(maxRow).Deciding(deciding...).Fingerprint("fingerprint")

// Dispatched decodes DispatchResult. Without one it is the zero value.
func (r *Schedule) Dispatched() (notify.DispatchResult, error) {
	if len(r.DispatchResult) == 0 {
		return notify.DispatchResult{}, nil
	}
	var d notify.DispatchResult
	if err := json.Unmarshal(r.DispatchResult, &d); err != nil {
		return notify.DispatchResult{}, fmt.Errorf("automation: dispatch_result of %s: %w", r.Key, err)
	}
	return d, nil
}

// mergeResult adds later to what is stored; nothing to nothing stays NULL. What
// cannot be decoded is replaced: the due pass holds such a row before it gets here.
func (r *Schedule) mergeResult(later notify.DispatchResult) {
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
func (r *Schedule) IsOpen() bool {
	return r.Status == StatusPending || r.Status == StatusProcessing
}

// dueOn is the next moment anybody should look at the row.
func (r *Schedule) dueOn() time.Time {
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
	StatusCompleted   = "Completed"   // delivery work is queued, which does not say that it arrived
	StatusFailed      = "Failed"      // tried in vain, on support hold
	StatusDeactivated = "Deactivated" // no longer wanted; see ReasonCode
	StatusCancelled   = "Cancelled"   // stopped by a person
)

// machine is the table of legal transitions; every method of [Schedule] that
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
		{From: StatusPending, To: StatusCancelled, Event: "cancelled by support"},
		{From: StatusFailed, To: StatusPending, Event: "ensured again, released or retried"},
		{From: StatusFailed, To: StatusDeactivated, Event: "event"},
		{From: StatusFailed, To: StatusCancelled, Event: "cancelled by support"},
		{From: StatusDeactivated, To: StatusPending, Event: "ensured again, or retried by support"},
		{From: StatusDeactivated, To: StatusCancelled, Event: "cancelled by support"},
		{From: StatusCancelled, To: StatusPending, Event: "released or retried by support, or ensured again without a hold"},
	},
	Terminal: []string{StatusCompleted},
}

// to changes the status, and whatever follows from it.
func (r *Schedule) to(now time.Time, status string) {
	machine.Must(r.Status, status)
	r.Status = status
	r.EndedOn = time.Time{}
	if !r.IsOpen() {
		r.EndedOn, r.NextRetryOn = now, time.Time{}
	}
	r.DueOn = r.dueOn()
}

// complete says that delivery work is queued where d says.
func (r *Schedule) complete(now time.Time, d notify.DispatchResult) {
	r.ReasonCode, r.Diagnostics = "", ""
	r.mergeResult(d)
	r.to(now, StatusCompleted)
}

// deactivate says that the work is no longer wanted. Under a worker it leaves
// lease and token alone; the new version makes the worker's settling stale.
func (r *Schedule) deactivate(now time.Time, why Reason) {
	r.ReasonCode = why
	r.to(now, StatusDeactivated)
}

// skip deactivates a row at its moment and keeps the reason with the results.
func (r *Schedule) skip(now time.Time, why Reason) {
	r.mergeResult(notify.DispatchResult{Path: notify.PathSkipped, SkippedReason: string(why)})
	r.deactivate(now, why)
}

// giveBack ends a claim without counting a try.
func (r *Schedule) giveBack(now time.Time) { r.to(now, StatusPending) }

// reactivate makes the row Pending again; attempts and diagnostics stay, and so
// does a hold.
func (r *Schedule) reactivate(now time.Time) {
	r.NextRetryOn = time.Time{}
	r.dropExpiredLease(now)
	r.to(now, StatusPending)
}

// dropExpiredLease keeps the next claim from counting a loss that was none: the
// lease was left by a worker whose row somebody else ended.
func (r *Schedule) dropExpiredLease(now time.Time) {
	if !r.LeaseExpiresOn.After(now) {
		r.LeaseExpiresOn, r.Abandoned = time.Time{}, false
	}
}

// hold keeps the row from being due until a person releases it. The first
// reason stands.
func (r *Schedule) hold(why Reason, detail string) bool {
	if r.IsOnSupportHold {
		return false
	}
	r.IsOnSupportHold, r.HoldReason, r.HoldDetail = true, why, storable(detail)
	r.DueOn = time.Time{}
	return true
}

// unhold ends a hold; what was given up under it starts afresh.
func (r *Schedule) unhold(now time.Time) {
	r.IsOnSupportHold, r.HoldReason, r.HoldDetail = false, "", ""
	if r.Status == StatusFailed || r.Status == StatusCancelled {
		r.RetryCount = 0
		r.reactivate(now)
	}
	r.dropExpiredLease(now)
	r.DueOn = r.dueOn()
}

// storable makes a text that every database takes, of at most 500 bytes.
func storable(s string) string {
	return cut(strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", ""), "?"), 500)
}

// cut leaves at most n bytes of s, and whole characters.
func cut(s string, n int) string {
	if len(s) > n {
		s = strings.ToValidUTF8(s[:n], "")
	}
	return s
}

// Reason is a short code that says why a row is in its state or on hold. Codes
// are stored and never change; hosts may add their own.
type Reason string

// Reasons of rows that are no longer wanted. None of them counts as a failure.
const (
	// SourceNoLongerValid: at its moment the [Validator] knew the source no more.
	// Nothing is to be done.
	SourceNoLongerValid Reason = "SourceNoLongerValid"
	// ReminderSettingInactive: the [SettingsSource] says that the setting is off or
	// gone. Switch it on and tell of the source's event again to have it back.
	ReminderSettingInactive Reason = "ReminderSettingInactive"
	// InputChanged: at its moment the source asked for something else. What it asks
	// for now was ensured in the same transaction.
	InputChanged Reason = "InputChanged"
	// Superseded: an event of the source no longer asked for this row. Nothing is to
	// be done; an event that asks for it again brings it back.
	Superseded Reason = "Superseded"
	// ThresholdNoLongerMet: an event, an Ensure or the [Validator] came with a
	// reading that no longer meets the [Threshold] of the row. Nothing is to be
	// done; a later reading that meets it makes the row Pending again, or another
	// one, as the firing policy says.
	ThresholdNoLongerMet Reason = "ThresholdNoLongerMet"
	// Invalidated: an [InvalidationProvider] ended the row without giving a reason.
	// Nothing is to be done; give a reason there to tell the cases apart.
	Invalidated Reason = "Invalidated"
	// TooLate: its moment had passed by more than [Lateness] allows. Nothing is to
	// be done; if it happens often, processes are down for too long.
	TooLate Reason = "TooLate"
	// Overtaken: when its moment was looked at, a later occurrence of the series,
	// or a later offset of the same occasion, was due as well, and [Lateness] runs
	// only the latest. Nothing is to be done; if it happens often, processes are
	// down for too long, or the cadence is too dense for the work.
	Overtaken Reason = "Overtaken"
	// Shadow: the old scheduler owns the run and does it. Nothing is to be done; a
	// move of the roll-out makes the row Pending, if its moment lies ahead.
	Shadow Reason = "Shadow"
	// NoRecipients: the [RecipientProvider] named nobody. Mend the data and let
	// support retry the row.
	NoRecipients Reason = "NoRecipients"
	// SkippedByPolicy: the [DeliveryPolicy] left nobody over. Nothing is to be done;
	// if somebody should have heard of it, mend the policy and let support retry
	// the row.
	SkippedByPolicy Reason = "SkippedByPolicy"
)

// Reasons of failures; Diagnostics has the details.
const (
	// HandlerFailed: a provider, policy or handler of the host returned an error,
	// or what it decided could not be stored. It is tried again; mend the cause if
	// it stays.
	HandlerFailed Reason = "HandlerFailed"
	// HandlerPanicked: a provider, policy or handler of the host panicked. It is
	// tried again; mend the code.
	HandlerPanicked Reason = "HandlerPanicked"
	// LeaseExpired: a worker died, or stalled for longer than its lease. The row is
	// tried again; if it happens often, processes are killed or paused, or one row
	// brings them down.
	LeaseExpired Reason = "LeaseExpired"
)

// Reasons of support holds. A held row is never due; an audited
// [Scheduler.Release], [Scheduler.Retry] or [Scheduler.Cancel] decides about it.
const (
	// InputConflict: the same key was asked for with another input, which
	// HoldDetail names. Find out which is right: release the row as it is, or
	// cancel it and use another trigger key for the other input.
	InputConflict Reason = "InputConflict"
	// DeliveryConflict: a delivery artifact exists under the row's identity and
	// stands for something else. Nothing was sent for the row and never will be;
	// find out which of the two is right, and cancel the row.
	DeliveryConflict Reason = "DeliveryConflict"
	// OwnershipConflict: when the delivery was to be created, the run was the old
	// scheduler's, or was delivered under other coordinates; HoldDetail names both
	// sides. Nothing was sent for the row. If the old scheduler has delivered the
	// run, cancel the row; if it never will, [Scheduler.TransferOwnership], then
	// release.
	OwnershipConflict Reason = "OwnershipConflict"
	// RetriesExhausted: the last try allowed has failed. Mend the cause that
	// Diagnostics names, then release.
	RetriesExhausted Reason = "RetriesExhausted"
	// PermanentFailure: a provider, policy or handler returned a [Permanent] error.
	// Mend its cause, then release.
	PermanentFailure Reason = "PermanentFailure"
	// Undecodable: a column holds what this version cannot read, such as an unknown
	// zone. Mend the row or the deployment, then release.
	Undecodable Reason = "Undecodable"
	// HeldBySupport: a person put the row on hold; the audit says who and why.
	// Release it when that is over.
	HeldBySupport Reason = "HeldBySupport"
	// CancelledBySupport: a person stopped the row for good; the audit says who and
	// why. Only Release or Retry brings it back.
	CancelledBySupport Reason = "CancelledBySupport"
)

// holdReasons are those of support holds. A hold has no other reason.
var holdReasons = []Reason{
	InputConflict, DeliveryConflict, OwnershipConflict, RetriesExhausted, PermanentFailure, Undecodable, HeldBySupport, CancelledBySupport,
}
