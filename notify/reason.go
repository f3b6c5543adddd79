package notify

// Reasons of support holds. A row on hold is never due; an audited support
// action decides about it.
const (
	// HoldConflict: an artifact exists under the row's identity and stands for
	// something else. Nothing more comes of the row; find out which of the two is
	// right, and cancel the other.
	HoldConflict = "Conflict"
	// HoldRetries: the last try allowed has failed. Mend the cause that the reason
	// code names, then release.
	HoldRetries = "RetriesExhausted"
	// HoldInDoubt: nobody can tell whether the message was sent. Ask the provider
	// or the recipient, then say that it was sent or that it was not.
	HoldInDoubt = "OutcomeUnknown"
	// HoldRefused: another try would fail in the same way. Mend what was refused,
	// then release.
	HoldRefused = "Refused"
)

// Reasons of states: why a row is in its state. They are stored and shown, beside
// the codes that channels and revalidators give.
const (
	// ReasonNoRecipients: the job has nobody to notify. Nothing is sent; if somebody
	// should have heard of it, mend who is asked for recipients.
	ReasonNoRecipients = "NoRecipients"
	// ReasonNoDestination: a recipient has neither a channel nor an inbox. The others
	// are not affected; give the recipient one of them.
	ReasonNoDestination = "NoDestination"
	// ReasonBadAddress: the channel cannot deliver to the address. The others are
	// not affected; mend the address in the host's own data.
	ReasonBadAddress = "BadAddress"
	// ReasonRenderFailed: the renderer returned an error. It is tried again; mend the
	// template or the data that it works on.
	ReasonRenderFailed = "RenderFailed"
	// ReasonArtifactMissing: a schedule names a job that does not exist. It is tried
	// again; if it stays, the job was ensured in another transaction that was
	// rolled back, or was deleted.
	ReasonArtifactMissing = "ArtifactMissing"
	// ReasonConflict: an artifact stands for something else; see the hold of that
	// name.
	ReasonConflict = "Conflict"
	// ReasonLeaseLost: a worker died, or stalled for longer than its lease. Nothing
	// is to be done, unless it happens often: then processes are killed or paused.
	ReasonLeaseLost = "LeaseLost"
	// ReasonPassFailed: the row could not be handled or stored. It is tried again;
	// the log of that time has the error.
	ReasonPassFailed = "PassFailed"
	// ReasonRevalidation: the revalidator could not say whether the message is still
	// wanted. It is asked again; mend what it reads from.
	ReasonRevalidation = "RevalidationFailed"
	// ReasonRefused: the provider refused the message and gave no code. What it said
	// is in its own log.
	ReasonRefused = "Refused"
	// ReasonInDoubt: a call ended without an answer, so nobody knows whether it
	// delivered. The type's InDoubt policy or a person decides.
	ReasonInDoubt = "InDoubt"
	// ReasonAbsent: the provider was asked and does not have the message, so it is
	// sent again. Nothing is to be done.
	ReasonAbsent = "Absent"
	// ReasonWindowOver: the time is over in which the provider takes a repeated call
	// for the same one, so another call could deliver twice. The message is in
	// doubt; the type's InDoubt policy or a person decides.
	ReasonWindowOver = "IdempotencyWindowOver"
	// ReasonAttachment: a blob that the content of a message names could not be
	// read. It is tried again; if it stays, the blob is gone: send the message anew.
	ReasonAttachment = "AttachmentMissing"
	// ReasonNotSeeded: the catalogue does not know the type. Nothing was sent; add
	// the type to it, for what comes.
	ReasonNotSeeded = "NotSeeded"
	// ReasonDisabled: the business unit has switched the type off. Nothing was sent,
	// and nothing is to be done.
	ReasonDisabled = "Disabled"
	// ReasonNoSubscribers: the job names nobody, and nobody has subscribed to the
	// type in its business unit. Nothing was sent; subscribe somebody, for what
	// comes.
	ReasonNoSubscribers = "NoSubscribers"
	// ReasonPayload: the blob of a messaging job is not an audience that this
	// version can read. The campaign has stopped; what was made so far stays. Cancel
	// it, and ensure another one with a payload that PutAudience made.
	ReasonPayload = "PayloadIncompatible"
	// ReasonPayloadMissing: the blob of a messaging job is not there. It is tried
	// again; if it stays, the blob was removed: cancel the campaign, and put its
	// audience anew under another GUID.
	ReasonPayloadMissing = "PayloadMissing"
	// ReasonHashKey: the key for the hashes of recipients was rotated while the
	// campaign was under way, so that nobody can tell who has a message already.
	// Release the campaign if nobody is in the audience twice, or cancel it.
	ReasonHashKey = "HashKeyChanged"
	// ReasonCampaignCancelled: a person has cancelled the campaign before the
	// message was sent. Nothing is to be done.
	ReasonCampaignCancelled = "CampaignCancelled"
	// ReasonCancelled: a person has cancelled it before its message was sent. Nothing
	// is to be done; the audit says who and why.
	ReasonCancelled = "Cancelled"
	// ReasonQuarantine: the database is a copy of another environment's, so nothing
	// is sent. Release the quarantine if this one is to send; else leave it be.
	ReasonQuarantine = "Quarantine"
	// ReasonNotAllowed: the recipient is none of those that may get anything in this
	// environment. Nothing was sent, and nothing is to be done.
	ReasonNotAllowed = "NotAllowed"
	// ReasonPaused: somebody has paused the type, the channel or the scope. The
	// message goes out when the pause is over; resume it.
	ReasonPaused = "Paused"
	// ReasonSuppressed: the address bounced for good, or its owner complained or
	// unsubscribed, or somebody has suppressed it. Nothing was sent; see the
	// suppression for which, and lift it if it is wrong.
	ReasonSuppressed = "Suppressed"
	// ReasonOptedOut: the recipient does not want messages of this type, or by this
	// method. Nothing was sent, and nothing is to be done.
	ReasonOptedOut = "OptedOut"
	// ReasonFrequencyCap: the recipient has got as many messages as a cap allows. The
	// message waits until it may go, or has ended, as the cap says.
	ReasonFrequencyCap = "FrequencyCap"
	// ReasonQuietHours: it is no time to send where the recipient lives. The message
	// waits for the next send window.
	ReasonQuietHours = "QuietHours"
	// ReasonRateLimit: the channel has been used as much as its rate allows. The
	// message waits its turn; if many wait for long, raise the rate or send less.
	ReasonRateLimit = "RateLimit"
	// ReasonGateFailed: a gate returned an error or panicked, so nothing went out. It
	// is asked again; the log of that time says which one.
	ReasonGateFailed = "GateFailed"
	// ReasonNoChannel: the source of channels has failed, or has none of this key for
	// the scope. It is asked again; mend the credentials of the scope.
	ReasonNoChannel = "NoChannel"
	// ReasonExists: of a dry run only: the message has been sent, or has ended
	// otherwise. Nothing is to be done.
	ReasonExists = "Exists"
)
