package notify

// Reasons of support holds. A row on hold is never due; an audited support
// action decides about it.
const (
	// HoldConflict: another artifact exists under the row's identity. Nothing more
	// comes of the row; find out which is right, and cancel the other.
	HoldConflict = "Conflict"
	// HoldRetries: the last try failed. Mend the cause that the reason code names,
	// then release.
	HoldRetries = "RetriesExhausted"
	// HoldInDoubt: it is unknown whether the message was sent. Ask the provider or
	// the recipient, then say so by Resolve.
	HoldInDoubt = "OutcomeUnknown"
	// HoldRefused: another try would fail in the same way. Mend what was refused,
	// then release.
	HoldRefused = "Refused"
	// HoldUnserved: no process has registered the type, or has the message's channel,
	// for Options.UnclaimedAfter. Run one that does, and it goes on by itself.
	HoldUnserved = "Unserved"
)

// Reasons of states: why a row is in its state. They are stored and shown, beside
// the codes that channels and revalidators give.
const (
	// ReasonNoRecipients: the job has nobody to notify. If somebody should have
	// heard of it, mend who is asked for recipients.
	ReasonNoRecipients = "NoRecipients"
	// ReasonNoDestination: a recipient has neither a channel nor an inbox. The
	// others are not affected.
	ReasonNoDestination = "NoDestination"
	// ReasonBadAddress: the channel cannot deliver to the address. The others are
	// not affected; mend the address in your data.
	ReasonBadAddress = "BadAddress"
	// ReasonRenderFailed: the renderer returned an error. It is tried again; mend
	// the template or its data.
	ReasonRenderFailed = "RenderFailed"
	// ReasonArtifactMissing: a schedule names a job that does not exist. It is tried
	// again; if it stays, the job was ensured in a transaction that was rolled back,
	// or was deleted.
	ReasonArtifactMissing = "ArtifactMissing"
	// ReasonConflict: an artifact stands for something else; see the hold of that
	// name.
	ReasonConflict = "Conflict"
	// ReasonLeaseLost: a worker died, or stalled for longer than its lease. If it
	// happens often, processes are killed or paused.
	ReasonLeaseLost = "LeaseLost"
	// ReasonPassFailed: the row could not be handled or stored. It is tried again;
	// the log has the error.
	ReasonPassFailed = "PassFailed"
	// ReasonUnserved: no process has its type, or its channel; see the hold of that name.
	ReasonUnserved = "Unserved"
	// ReasonIncapable: the message's channel cannot do what its type Needs. Register one
	// that can under its key, or need less; then release.
	ReasonIncapable = "ChannelIncapable"
	// ReasonTooLate: the message was stale before it could be sent. If it happens often,
	// processes or providers are down for too long, or the type's Validity is too short.
	ReasonTooLate = "TooLate"
	// ReasonRevalidation: the revalidator failed. It is asked again; mend what it
	// reads from.
	ReasonRevalidation = "RevalidationFailed"
	// ReasonBounced: the provider took the message, and it came back without a code. Ask
	// the recipient for another address.
	ReasonBounced = "Bounced"
	// ReasonRefused: the provider refused the message and gave no code. Its own log
	// may say why.
	ReasonRefused = "Refused"
	// ReasonInDoubt: a call ended without an answer. The type's InDoubt policy or a
	// person decides.
	ReasonInDoubt = "InDoubt"
	// ReasonAbsent: the provider does not have the message, so it is sent again. No
	// action needed.
	ReasonAbsent = "Absent"
	// ReasonWindowOver: the provider no longer filters repeats of this message. The
	// type's InDoubt policy or a person decides.
	ReasonWindowOver = "IdempotencyWindowOver"
	// ReasonAttachment: an attachment's blob could not be read. It is tried again;
	// if it stays, the blob is gone: send the message anew.
	ReasonAttachment = "AttachmentMissing"
	// ReasonNotSeeded: the catalogue does not know the type. Add it, for later
	// messages.
	ReasonNotSeeded = "NotSeeded"
	// ReasonDisabled: the business unit has switched the type off. No action needed.
	ReasonDisabled = "Disabled"
	// ReasonNoSubscribers: nobody has subscribed to the type in its business unit.
	// Subscribe somebody, for later messages.
	ReasonNoSubscribers = "NoSubscribers"
	// ReasonPayload: the campaign's blob is not an audience that this version can read.
	// It has stopped; cancel it, and ensure another with a payload of PutAudience.
	ReasonPayload = "PayloadIncompatible"
	// ReasonPayloadMissing: the campaign's blob is missing. It is tried again; if it
	// stays, cancel the campaign and put its audience anew under another GUID.
	ReasonPayloadMissing = "PayloadMissing"
	// ReasonHashKey: the key of recipients was rotated in the middle of the
	// campaign. Release it if nobody is in the audience twice, else cancel it.
	ReasonHashKey = "HashKeyChanged"
	// ReasonCampaignCancelled: a person cancelled the campaign before the message
	// was sent. No action needed.
	ReasonCampaignCancelled = "CampaignCancelled"
	// ReasonCancelled: a person cancelled it before its message was sent (see the
	// audit). No action needed.
	ReasonCancelled = "Cancelled"
	// ReasonErased: its recipient was erased. Nothing is sent to them until somebody admits
	// them again.
	ReasonErased = "Erased"
	// ReasonForgotten: the database has forgotten commits, and this message may have been
	// sent by one of them. Find out at the provider whether it was sent, and resolve it.
	ReasonForgotten = "Forgotten"
	// ReasonQuarantine: the database is a copy of another environment's, or has forgotten
	// commits. Release the quarantine only if this one is to send.
	ReasonQuarantine = "Quarantine"
	// ReasonPaused: somebody has paused the type, the channel or the scope. The
	// message goes out when the pause is over.
	ReasonPaused = "Paused"
	// ReasonSuppressed: the address bounced for good, complained, unsubscribed, or
	// was suppressed by somebody. See the suppression; lift it if it is wrong.
	ReasonSuppressed = "Suppressed"
	// ReasonOptedOut: the recipient does not want this type or method. No action
	// needed.
	ReasonOptedOut = "OptedOut"
	// ReasonNoConsent: the type's group has to be asked for (OptIn), and the recipient
	// has not. No action needed; Contacts.SetPreferences notes that somebody has.
	ReasonNoConsent = "NoConsent"
	// ReasonStopped: support has stopped messages to the recipient, of the type's group or all
	// of them. It is ended by Allow.
	ReasonStopped = "StoppedBySupport"
	// ReasonRead: the recipient has read or archived the message in the inbox, so it is not
	// sent by another way. No action needed.
	ReasonRead = "Read"
	// ReasonSnoozed: the recipient has put the message off in the inbox. It waits until it
	// has been there unread for its time again.
	ReasonSnoozed = "Snoozed"
	// ReasonGateFailed: a gate failed, so nothing went out. It is asked again; the
	// log says which one.
	ReasonGateFailed = "GateFailed"
	// ReasonNoOwner: this process sends, and does not have what the message belongs to, such
	// as the surveys. It waits for one that does: give each process that sends both.
	ReasonNoOwner = "NoOwner"
	// ReasonNoChannel: the source of channels failed, or has none of this key for
	// the scope. It is asked again; mend the scope's credentials.
	ReasonNoChannel = "NoChannel"
	// ReasonEmptyDigest: nothing was in the digest. No action needed.
	ReasonEmptyDigest = "EmptyDigest"
	// ReasonExists: (dry runs only) the message has been sent, or has ended. No
	// action needed.
	ReasonExists = "Exists"
)
