package survey

// Reasons of instances and of entries in their delivery logs, beside the codes
// that channels and gates give.
const (
	// ReasonNoChannel: no process has had the channel of the trigger for
	// [Options.UnclaimedAfter]. The schedule has stopped; run a process that has the
	// channel, then let support retry.
	ReasonNoChannel = "NoChannel"
	// ReasonBadAddress: the channel cannot deliver to the recipient's address. The
	// schedule has stopped; mend the address in the host's own data, for what comes.
	ReasonBadAddress = "BadAddress"
	// ReasonRefused: the provider refused the link and gave no code. What it said is
	// in its own log.
	ReasonRefused = "Refused"
	// ReasonRenderFailed: the renderer, or a text of the definition, failed. It is
	// tried again; the log of that time says where. Mend the text and let support
	// retry if the schedule has stopped.
	ReasonRenderFailed = "RenderFailed"
	// ReasonContent: what the renderer made cannot be sent: a subject of two lines,
	// a part that is too long. The schedule has stopped; mend the text and let
	// support retry.
	ReasonContent = "ContentRefused"
	// ReasonLink: the link could not be made, since its key is missing or could not
	// be read; the log of that time has the error. It is tried again; give the process
	// the key.
	ReasonLink = "LinkFailed"
	// ReasonVersion: the version that the instance is pinned to could not be read, or
	// has no such trigger. It is tried again.
	ReasonVersion = "VersionUnreadable"
	// ReasonGateFailed: a gate returned an error or panicked, so nothing went out. It
	// is asked again; the log of that time says which one.
	ReasonGateFailed = "GateFailed"
	// ReasonPassFailed: the row could not be handled or stored. It is tried again;
	// the log of that time has the error.
	ReasonPassFailed = "PassFailed"
	// ReasonLeaseLost: a worker died, or stalled for longer than its lease, before it
	// called the channel. It is tried again; if it happens often, processes are
	// killed or paused, or one row brings them down.
	ReasonLeaseLost = "LeaseLost"
	// ReasonInDoubt: a call ended without an answer, so nobody knows whether the link
	// was sent. [Options.InDoubt] or a person decides.
	ReasonInDoubt = "InDoubt"
	// ReasonAbsent: the provider was asked and does not have the message, so it is
	// sent again. Nothing is to be done.
	ReasonAbsent = "Absent"
	// ReasonTooLate: a send was due, and nobody got to it before its grace was over,
	// so it expired unsent. If it happens often, processes are down for too long.
	ReasonTooLate = "TooLate"
	// ReasonLimit: the trigger's expiresAfter was over. Nothing is to be done.
	ReasonLimit = "ExpiresAfter"
	// ReasonHeldBySupport: a person put the instance on hold; the audit says who and
	// why. Release it when that is over.
	ReasonHeldBySupport = "HeldBySupport"
	// ReasonStoppedBySupport: a person stopped the sends; the audit says who and why.
	// Only Retry goes on with them; the link stays open until it expires.
	ReasonStoppedBySupport = "StoppedBySupport"
)
