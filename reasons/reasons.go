// Package reasons has the reason codes of rows: why one is in its state, or on hold for
// support. They are stored and shown, and a code means the same wherever it stands.
// Gates, channels, revalidators and validators of a host may give codes of their own,
// which are not listed here. Use other words for them.
package reasons

// Reminders, runs and other work that is no longer wanted. None of them counts as a
// failure.
const (
	// SourceNoLongerValid: the validator no longer recognised the source. No action
	// needed.
	SourceNoLongerValid = "SourceNoLongerValid"
	// ReminderSettingInactive: the setting is off or gone. Switch it on and tell the
	// source's event again to have the row back.
	ReminderSettingInactive = "ReminderSettingInactive"
	// InputChanged: the source now asks for something else, which was ensured in the
	// same transaction.
	InputChanged = "InputChanged"
	// Superseded: the source changed, or its setting, and no longer asks for this
	// reminder. No action needed; if it asks again, the reminder comes back.
	Superseded = "Superseded"
	// ThresholdNoLongerMet: a newer reading no longer meets the threshold. No action
	// needed; a later reading that does brings the row back, or makes another, by the
	// firing policy.
	ThresholdNoLongerMet = "ThresholdNoLongerMet"
	// Invalidated: an invalidation provider ended the row and gave no reason. No action
	// needed.
	Invalidated = "Invalidated"
	// Overtaken: a later occurrence or offset was due too, and the type's Lateness runs
	// only the latest. Asking again does not bring it back. If it happens often, processes
	// are down for too long, or the cadence is too dense.
	Overtaken = "Overtaken"
	// SentByOldJob: for your validator, about a run that the scheduler before this one
	// had sent. No action needed; asking again does not bring it back.
	SentByOldJob = "SentByOldJob"
	// Shadow: the old scheduler owns the run and does it. No action needed; a move of the
	// roll-out makes a future row Pending.
	Shadow = "Shadow"
	// SkippedByPolicy: the delivery policy left no recipient. No action needed, unless the
	// policy is wrong: mend it, then retry the row.
	SkippedByPolicy = "SkippedByPolicy"
	// PersonErased: the person whom the row was about was erased. No action needed.
	PersonErased = "PersonErased"
	// SubscriptionInactive: the report's subscription was paused or deactivated. Resume it;
	// missed runs are not made up for.
	SubscriptionInactive = "SubscriptionInactive"
	// ReportEmpty: the report had nothing to say, and the subscription does not send such
	// reports. No action needed.
	ReportEmpty = "ReportEmpty"
	// CancelledBySupport: a person stopped the row for good (see the audit). Only Release
	// or Retry brings it back.
	CancelledBySupport = "CancelledBySupport"
)

// Holds. A row on hold is never due; a person decides about it by an action that is
// audited.
const (
	// Conflict: another artifact exists under the row's identity. Nothing more comes of
	// the row; find out which is right, and cancel the other.
	Conflict = "Conflict"
	// InputConflict: the same key was asked for with another input (HoldDetail). If the
	// row is right, release it; else cancel it and give the other input another trigger
	// key.
	InputConflict = "InputConflict"
	// DeliveryConflict: another delivery exists under the row's identity. Nothing was or
	// will be sent for the row: find out which is right, and cancel the row.
	DeliveryConflict = "DeliveryConflict"
	// OwnershipConflict: the old scheduler owns or has delivered the run (HoldDetail).
	// Nothing was sent for the row. If it has delivered, cancel the row; if it never will,
	// transfer the ownership, then release.
	OwnershipConflict = "OwnershipConflict"
	// RetriesExhausted: the last try failed. Mend the cause that the reason code or
	// Diagnostics names, then release.
	RetriesExhausted = "RetriesExhausted"
	// PermanentFailure: your code returned a permanent error. Mend its cause, then release.
	PermanentFailure = "PermanentFailure"
	// Refused: the provider refused the message, and another try would fail in the same
	// way. Its own log may say why; mend what was refused, then release.
	Refused = "Refused"
	// OutcomeUnknown: it is unknown whether the message was sent. Ask the provider or the
	// recipient, then say so by Resolve.
	OutcomeUnknown = "OutcomeUnknown"
	// Undecodable: this version cannot read a column, such as an unknown zone. Mend the row
	// or the deployment, then release.
	Undecodable = "Undecodable"
	// Unserved: no process has registered the row's type, or has the message's channel, for
	// Options.UnclaimedAfter. Run one that does, and it goes on by itself.
	Unserved = "Unserved"
	// HeldBySupport: a person put the row on hold (see the audit). Release it when that is
	// over.
	HeldBySupport = "HeldBySupport"
)

// Failures. The row is tried again, unless the text says otherwise.
const (
	// HandlerFailed: your provider, policy or handler returned an error, or its decision
	// could not be stored. Mend the cause if it stays; Diagnostics has the error.
	HandlerFailed = "HandlerFailed"
	// HandlerPanicked: your provider, policy or handler panicked. Mend the code.
	HandlerPanicked = "HandlerPanicked"
	// LeaseExpired: a worker died, or stalled for longer than its lease. If it happens
	// often, processes are killed or paused, or one row brings them down.
	LeaseExpired = "LeaseExpired"
	// LeaseLost: a worker died, or stalled for longer than its lease, before it called a
	// channel. If it happens often, processes are killed or paused, or one row brings them
	// down.
	LeaseLost = "LeaseLost"
	// PassFailed: the row could not be handled or stored. The log has the error.
	PassFailed = "PassFailed"
	// RenderFailed: the renderer, or a text of a survey, failed. Mend the template or its
	// data; Diagnostics or the log has the error.
	RenderFailed = "RenderFailed"
	// ArtifactMissing: a schedule names a job that does not exist. If it stays, the job was
	// ensured in a transaction that was rolled back, or was deleted.
	ArtifactMissing = "ArtifactMissing"
	// AttachmentMissing: an attachment's blob could not be read. If it stays, the blob is
	// gone: send the message anew.
	AttachmentMissing = "AttachmentMissing"
	// PayloadIncompatible: the campaign's blob is not an audience that this version can
	// read. It has stopped; cancel it, and ensure another with a payload of PutAudience.
	PayloadIncompatible = "PayloadIncompatible"
	// PayloadMissing: the campaign's blob is missing. If it stays, cancel the campaign and
	// put its audience anew under another GUID.
	PayloadMissing = "PayloadMissing"
	// HashKeyChanged: the key of recipients was rotated in the middle of the campaign.
	// Release it if no person is in the audience twice, else cancel it.
	HashKeyChanged = "HashKeyChanged"
	// WrongHashKey: the Notifier has another HashKey than this database, so that no message
	// is made. Give it the right one.
	WrongHashKey = "WrongHashKey"
	// RevalidationFailed: the revalidator failed. It is asked again; mend what it reads
	// from.
	RevalidationFailed = "RevalidationFailed"
	// GateFailed: a gate failed, so nothing went out. It is asked again; the log says which
	// one.
	GateFailed = "GateFailed"
	// NoChannel: the source of channels failed, or has none of this key for the scope. It
	// is asked again; mend the scope's credentials.
	NoChannel = "NoChannel"
	// ChannelIncapable: the message's channel cannot do what its type Needs. It is on hold.
	// Register one that can under its key, or need less; then release.
	ChannelIncapable = "ChannelIncapable"
	// NoOwner: this process sends, and does not have what the message belongs to, such as
	// the surveys. It waits for one that does: give each process that sends both.
	NoOwner = "NoOwner"
	// InDoubt: a call ended without an answer. The policy of the type, or of the surveys,
	// or a person decides.
	InDoubt = "InDoubt"
	// Absent: the provider does not have the message, so it is sent again. No action
	// needed.
	Absent = "Absent"
	// IdempotencyWindowOver: the provider no longer filters repeats of this message. The
	// type's InDoubt policy or a person decides.
	IdempotencyWindowOver = "IdempotencyWindowOver"
	// Forgotten: the database has forgotten commits, and this message may have been sent by
	// one of them. Find out at the provider whether it was sent, and resolve it.
	Forgotten = "Forgotten"
)

// Messages that do not go out, or wait.
const (
	// NoRecipients: no recipient with an address was found. Add the address in your
	// records, then send it again.
	NoRecipients = "NoRecipients"
	// NoDestination: a recipient has neither a channel nor an inbox. The others are not
	// affected.
	NoDestination = "NoDestination"
	// BadAddress: the channel cannot deliver to the address. Other recipients are not
	// affected; mend the address in your data.
	BadAddress = "BadAddress"
	// Bounced: the provider took the message, and it came back without a code. Ask the
	// recipient for another address.
	Bounced = "Bounced"
	// TooLate: it was stale before it could be run or sent: later than the type's Lateness
	// or Validity, or a send's grace, allows. If it happens often, processes or providers
	// are down for too long, or what is allowed is too short.
	TooLate = "TooLate"
	// NotSeeded: the catalogue does not know the type. Add it, for later messages.
	NotSeeded = "NotSeeded"
	// Disabled: the business unit has switched the type off. No action needed.
	Disabled = "Disabled"
	// NoSubscribers: the type has no subscriber in its business unit. Add one, for later
	// messages.
	NoSubscribers = "NoSubscribers"
	// CampaignCancelled: a person cancelled the campaign before the message was sent. No
	// action needed.
	CampaignCancelled = "CampaignCancelled"
	// Cancelled: a person cancelled it before its message was sent (see the audit). No
	// action needed.
	Cancelled = "Cancelled"
	// Erased: its recipient was erased. Nothing is sent to them until they are admitted
	// again.
	Erased = "Erased"
	// Quarantine: the database is a copy of another environment's, or has forgotten
	// commits. Release the quarantine only if this one is to send.
	Quarantine = "Quarantine"
	// Paused: a person has paused the type, the channel or the scope. The message goes out
	// when the pause is over.
	Paused = "Paused"
	// Suppressed: the address bounced for good, complained, unsubscribed, or was suppressed
	// by a person. See the suppression; lift it if it is wrong.
	Suppressed = "Suppressed"
	// OptedOut: the recipient does not want this type or method. No action needed.
	OptedOut = "OptedOut"
	// NoConsent: the type's group has to be asked for (OptIn), and the recipient has not.
	// No action needed; Contacts.SetPreferences notes a consent.
	NoConsent = "NoConsent"
	// StoppedBySupport: support has stopped messages to the recipient, of the type's group
	// or all of them. Allow ends it.
	StoppedBySupport = "StoppedBySupport"
	// Read: the recipient has read or archived the message in the inbox, so it is not sent
	// by another way. No action needed.
	Read = "Read"
	// Snoozed: the recipient has put the message off in the inbox. It waits until it has
	// been there unread for its time again.
	Snoozed = "Snoozed"
	// NotAllowed: the gate.Guard of this environment does not allow the recipient. No
	// action needed.
	NotAllowed = "NotAllowed"
	// FrequencyCap: the recipient has got as many messages as a cap allows. The message
	// waits, or has ended if the cap says so.
	FrequencyCap = "FrequencyCap"
	// QuietHours: it is during quiet hours where the recipient lives. The message waits for
	// the next send window.
	QuietHours = "QuietHours"
	// RateLimit: the channel has reached its rate. The message waits; if many wait long,
	// raise the rate or send less.
	RateLimit = "RateLimit"
	// EmptyDigest: nothing was in the digest. No action needed.
	EmptyDigest = "EmptyDigest"
	// Exists: (dry runs only) the message has been sent, or has ended. No action needed.
	Exists = "Exists"
)

// Links of surveys and their sends, beside the codes of messages.
const (
	// ContentRefused: what the renderer made cannot be sent, such as a subject of two
	// lines. The sends have stopped; mend the text, then retry.
	ContentRefused = "ContentRefused"
	// LinkFailed: the link's key is missing or could not be read; the log has the error. It
	// is tried again; give the process the key.
	LinkFailed = "LinkFailed"
	// VersionUnreadable: the pinned version could not be read, or has no such trigger. It
	// is tried again.
	VersionUnreadable = "VersionUnreadable"
	// LinkOver: the link of the message has ended, was answered, or is on hold. No action
	// needed.
	LinkOver = "LinkOver"
	// ExpiresAfter: the trigger's expiresAfter was over. No action needed.
	ExpiresAfter = "ExpiresAfter"
	// AskedLately: another link was sent to the customer within the trigger's
	// notAskedWithin, so this one was skipped. No action needed.
	AskedLately = "AskedLately"
	// AskedAtOnce: another link is being sent to the customer. It is looked at again in a
	// minute or two.
	AskedAtOnce = "AskedAtOnce"
	// NotSampled: the event is not in the share that the trigger asks about. No action
	// needed.
	NotSampled = "NotSampled"
	// SendsStopped: a person stopped the sends of the link (see the audit). Only Retry goes
	// on; the link stays open until it expires.
	SendsStopped = "SendsStopped"
)
