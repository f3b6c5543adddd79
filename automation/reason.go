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
	// Superseded: an event of the source no longer asked for this row.
	Superseded Reason = "Superseded"
	// ThresholdNoLongerMet: an event, an Ensure or the [Validator] came with a
	// reading that no longer meets the [Threshold] of the row. Nothing is to be
	// done; a later reading that meets it makes the row Pending again, or another
	// one, as the firing policy says.
	ThresholdNoLongerMet Reason = "ThresholdNoLongerMet"
	// Invalidated: an [InvalidationProvider] ended the row without giving a reason.
	Invalidated Reason = "Invalidated"
	// TooLate: its moment had passed by more than [Lateness] allows. Nothing is to
	// be done; if it happens often, processes are down for too long.
	TooLate Reason = "TooLate"
	// Overtaken: when its moment was looked at, a later occurrence of the series,
	// or a later offset of the same occasion, was due as well, and [Lateness] runs
	// only the latest. Nothing is to be done; if it happens often, processes are
	// down for too long, or the cadence is too dense for the work.
	Overtaken Reason = "Overtaken"
	// NoRecipients: the [RecipientProvider] named nobody. Mend the data and let
	// support retry the row.
	NoRecipients Reason = "NoRecipients"
	// SkippedByPolicy: the [DeliveryPolicy] left nobody over.
	SkippedByPolicy Reason = "SkippedByPolicy"
)

// Reasons of failures; Diagnostics has the details.
const (
	// HandlerFailed: a provider, policy or handler of the host returned an error,
	// or what it decided could not be stored.
	HandlerFailed Reason = "HandlerFailed"
	// HandlerPanicked: it panicked.
	HandlerPanicked Reason = "HandlerPanicked"
	// LeaseExpired: a worker died, or stalled for longer than its lease.
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
	// stands for something else. Nothing was sent for the row and never will be.
	DeliveryConflict Reason = "DeliveryConflict"
	// RetriesExhausted: mend the cause that Diagnostics names, then release.
	RetriesExhausted Reason = "RetriesExhausted"
	// PermanentFailure: a [Permanent] error; mend its cause, then release.
	PermanentFailure Reason = "PermanentFailure"
	// Undecodable: a column holds what this version cannot read, such as an unknown
	// zone. Mend the row or the deployment, then release.
	Undecodable Reason = "Undecodable"
	// HeldBySupport and CancelledBySupport: a person did it; the audit says who.
	HeldBySupport      Reason = "HeldBySupport"
	CancelledBySupport Reason = "CancelledBySupport"
)
