package automation

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
// [Support.Release], [Support.Retry] or [Support.Cancel] decides about it.
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
	// run, cancel the row; if it never will, [Rollout.TransferOwnership], then
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
