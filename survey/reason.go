package survey

// Reasons of instances and of entries in their delivery logs, beside the codes
// that channels and gates give.
const (
	// ReasonNoChannel: no process has had the trigger's channel for
	// [Options.UnclaimedAfter]. The sends have stopped; run a process that has it,
	// then retry.
	ReasonNoChannel = "NoChannel"
	// ReasonBadAddress: the channel cannot deliver to the address. The sends have
	// stopped; mend the address in your data.
	ReasonBadAddress = "BadAddress"
	// ReasonRefused: the provider refused the link and gave no code. Its own log may
	// say why.
	ReasonRefused = "Refused"
	// ReasonRenderFailed: the renderer, or a text of the definition, failed. It is
	// tried again; the log says where. Mend the text, and retry if the sends have
	// stopped.
	ReasonRenderFailed = "RenderFailed"
	// ReasonContent: what the renderer made cannot be sent, such as a subject of two
	// lines. The sends have stopped; mend the text, then retry.
	ReasonContent = "ContentRefused"
	// ReasonLink: the link's key is missing or could not be read; the log has the
	// error. It is tried again; give the process the key.
	ReasonLink = "LinkFailed"
	// ReasonVersion: the pinned version could not be read, or has no such trigger.
	// It is tried again.
	ReasonVersion = "VersionUnreadable"
	// ReasonGateFailed: a gate failed, so nothing went out. It is asked again; the
	// log says which one.
	ReasonGateFailed = "GateFailed"
	// ReasonPassFailed: the row could not be handled or stored. It is tried again;
	// the log has the error.
	ReasonPassFailed = "PassFailed"
	// ReasonLeaseLost: a worker died or stalled before it called the channel. It is
	// tried again; if it happens often, processes are killed or paused, or one row
	// brings them down.
	ReasonLeaseLost = "LeaseLost"
	// ReasonInDoubt: a call ended without an answer. [Options.InDoubt] or a person
	// decides.
	ReasonInDoubt = "InDoubt"
	// ReasonAbsent: the provider does not have the message, so it is sent again. No
	// action needed.
	ReasonAbsent = "Absent"
	// ReasonTooLate: nobody got to a send within its grace, so the link expired
	// unsent. If it happens often, processes are down for too long.
	ReasonTooLate = "TooLate"
	// ReasonLimit: the trigger's expiresAfter was over. No action needed.
	ReasonLimit = "ExpiresAfter"
	// ReasonAskedLately: another link was sent to the customer within the trigger's
	// notAskedWithin, so this one was skipped. No action needed.
	ReasonAskedLately = "AskedLately"
	// ReasonAskedAtOnce: another link is being sent to the customer. It is looked at
	// again in a minute or two.
	ReasonAskedAtOnce = "AskedAtOnce"
	// ReasonNotSampled: the event is not in the share that the trigger asks about. No
	// action needed.
	ReasonNotSampled = "NotSampled"
	// ReasonHeldBySupport: a person put the instance on hold (see the audit).
	// Release it when that is over.
	ReasonHeldBySupport = "HeldBySupport"
	// ReasonStoppedBySupport: a person stopped the sends (see the audit). Only Retry
	// goes on; the link stays open until it expires.
	ReasonStoppedBySupport = "StoppedBySupport"
)
