package automation

// Reason is a short code that says why a row is in its state or on hold. Codes
// are stored and never change; hosts may add their own.
type Reason = string

// Reasons of rows that are no longer wanted. None of them counts as a failure.
const (
	// SourceNoLongerValid: the [Validator] no longer recognised the source. No
	// action needed.
	SourceNoLongerValid Reason = "SourceNoLongerValid"
	// ReminderSettingInactive: the setting is off or gone. Switch it on and tell the
	// source's event again to have the row back.
	ReminderSettingInactive Reason = "ReminderSettingInactive"
	// InputChanged: the source now asks for something else, which was ensured in the
	// same transaction.
	InputChanged Reason = "InputChanged"
	// Superseded: the source changed, or its setting, and no longer asks for
	// this reminder. No action needed; if it asks again, the reminder comes back.
	Superseded Reason = "Superseded"
	// ThresholdNoLongerMet: a newer reading no longer meets the [Threshold]. No
	// action needed; a later reading that does brings the row back, or makes
	// another, by the firing policy.
	ThresholdNoLongerMet Reason = "ThresholdNoLongerMet"
	// Invalidated: an [InvalidationProvider] ended the row and gave no reason. No
	// action needed.
	Invalidated Reason = "Invalidated"
	// TooLate: the row was later than [Lateness] allows. If it happens often,
	// processes are down for too long.
	TooLate Reason = "TooLate"
	// Overtaken: a later occurrence or offset was due too, and [Lateness] runs only
	// the latest. Asking again does not bring it back. If it happens often, processes
	// are down for too long, or the cadence is too dense.
	Overtaken Reason = "Overtaken"
	// SentByOldJob: for your [Validator], about a run that the scheduler before this one
	// had sent. No action needed; asking again does not bring it back.
	SentByOldJob Reason = "SentByOldJob"
	// Shadow: the old scheduler owns the run and does it. No action needed; a move
	// of the roll-out makes a future row Pending.
	Shadow Reason = "Shadow"
	// NoRecipients: the [RecipientProvider] named nobody. Mend the data, then retry
	// the row.
	NoRecipients Reason = "NoRecipients"
	// SkippedByPolicy: the [DeliveryPolicy] left nobody over. No action needed,
	// unless the policy is wrong: mend it, then retry the row.
	SkippedByPolicy Reason = "SkippedByPolicy"
	// PersonErased: whom the row was about was erased. No action needed.
	PersonErased Reason = "PersonErased"
)

// Reasons of failures; Diagnostics has the details.
const (
	// HandlerFailed: your provider, policy or handler returned an error, or its
	// decision could not be stored. It is tried again; mend the cause if it stays.
	HandlerFailed Reason = "HandlerFailed"
	// HandlerPanicked: your provider, policy or handler panicked. It is tried again;
	// mend the code.
	HandlerPanicked Reason = "HandlerPanicked"
	// LeaseExpired: a worker died, or stalled for longer than its lease. The row is
	// tried again; if it happens often, processes are killed or paused, or one row
	// brings them down.
	LeaseExpired Reason = "LeaseExpired"
)

// Reasons of support holds. A held row is never due; an audited
// [Support.Release], [Support.Retry] or [Support.Cancel] decides about it.
const (
	// InputConflict: the same key was asked for with another input (HoldDetail). If
	// the row is right, release it; else cancel it and give the other input another
	// trigger key.
	InputConflict Reason = "InputConflict"
	// DeliveryConflict: another delivery exists under the row's identity. Nothing
	// was or will be sent for the row: find out which is right, and cancel the row.
	DeliveryConflict Reason = "DeliveryConflict"
	// OwnershipConflict: the old scheduler owns or has delivered the run
	// (HoldDetail). Nothing was sent for the row. If it has delivered, cancel the
	// row; if it never will, [Rollout.TransferOwnership], then release.
	OwnershipConflict Reason = "OwnershipConflict"
	// RetriesExhausted: the last try failed. Mend the cause in Diagnostics, then
	// release.
	RetriesExhausted Reason = "RetriesExhausted"
	// PermanentFailure: your code returned a [Permanent] error. Mend its cause, then
	// release.
	PermanentFailure Reason = "PermanentFailure"
	// Undecodable: this version cannot read a column, such as an unknown zone. Mend
	// the row or the deployment, then release.
	Undecodable Reason = "Undecodable"
	// Unserved: no process has registered the row's type for Options.UnclaimedAfter. Run
	// one that does, and it goes on by itself.
	Unserved Reason = "Unserved"
	// HeldBySupport: a person put the row on hold (see the audit). Release it when
	// that is over.
	HeldBySupport Reason = "HeldBySupport"
	// CancelledBySupport: a person stopped the row for good (see the audit). Only
	// Release or Retry brings it back.
	CancelledBySupport Reason = "CancelledBySupport"
)

// holdReasons are those of support holds. A hold has no other reason.
var holdReasons = []Reason{
	InputConflict, DeliveryConflict, OwnershipConflict, RetriesExhausted, PermanentFailure, Undecodable, Unserved, HeldBySupport, CancelledBySupport,
}
