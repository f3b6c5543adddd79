package survey

// Reasons of instances and of entries in their delivery logs, beside those of their messages,
// which package notify has, and the codes that channels and gates give.
const (
	// ReasonBadAddress: the channel cannot deliver to the address. The sends have
	// stopped; mend the address in your data.
	ReasonBadAddress = "BadAddress"
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
	// ReasonPassFailed: the row could not be handled or stored. It is tried again;
	// the log has the error.
	ReasonPassFailed = "PassFailed"
	// ReasonLeaseLost: a worker died or stalled before it called the channel. It is
	// tried again; if it happens often, processes are killed or paused, or one row
	// brings them down.
	ReasonLeaseLost = "LeaseLost"
	// ReasonLinkOver: the link of the message has ended, was answered, or is on hold. No
	// action needed.
	ReasonLinkOver = "LinkOver"
	// ReasonHashKey: the Notifier has another HashKey than this database, so that no message
	// is made. Give it the right one.
	ReasonHashKey = "WrongHashKey"
	// ReasonInDoubt: a call ended without an answer. [Options.InDoubt] or a person
	// decides.
	ReasonInDoubt = "InDoubt"
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
