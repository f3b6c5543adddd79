package notify

import (
	"cmp"
	"time"
)

// heights order what is known of a message: a callback only moves it up, so that
// the order in which callbacks come does not matter. A state without a height is
// one that our own work goes on from. What was skipped or cancelled moves only
// once the recipient has the message all the same: an earlier call reached it.
var heights = map[string]int{
	StatusSentToProvider: 1,
	StatusFailedFinal:    2,
	StatusSkipped:        2,
	StatusCancelled:      2,
	StatusDelivered:      3,
	StatusOpened:         4,
}

// statusOf is what each kind says at least: whatever a provider reports about a
// message, it has it.
var statusOf = map[StatusKind]string{
	KindAccepted:     StatusSentToProvider,
	KindFailed:       StatusFailedFinal,
	KindDelivered:    StatusDelivered,
	KindOpened:       StatusOpened,
	KindBounced:      StatusSentToProvider,
	KindComplained:   StatusSentToProvider,
	KindUnsubscribed: StatusSentToProvider,
}

// raised is the status of a message after a callback.
func raised(status string, k StatusKind) string {
	if to := statusOf[k]; heights[to] > heights[status] {
		return to
	}
	return status
}

// reported brings what a provider reports into the message, and says whether it
// changed anything. Neither a retry nor a take-over follows. A worker that holds
// the message keeps its lease, and merges its result.
func (m *OutgoingMessage) reported(now time.Time, e *deliveryEvent) bool {
	named := m.ProviderMessageID == "" && e.ProviderMessageID != ""
	if named {
		m.ProviderMessageID = e.ProviderMessageID
	}
	to := raised(m.Status, e.Kind)
	if to == m.Status {
		return named
	}
	m.confirmed(now)
	m.become(to)
	m.DueOn, m.NextRetryOn, m.ReasonCode = time.Time{}, time.Time{}, ""
	m.SentOn = cmp.Or(m.SentOn, m.CallStartedOn, e.On)
	if to != StatusSentToProvider {
		m.EndedOn = cmp.Or(m.EndedOn, e.On)
	}
	if to == StatusFailedFinal {
		m.ReasonCode = cmp.Or(e.Code, ReasonRefused)
	}
	if m.HoldReason != HoldConflict { // that is about the job, not about this call
		m.unhold()
	}
	return true
}

// confirmed notes that the provider settles a doubt, or an assumption.
func (m *OutgoingMessage) confirmed(now time.Time) {
	if m.Doubts > 0 && heights[m.Status] == 0 || m.Resolution == ResolvedByAssumption {
		m.resolved(now, ResolvedByCallback)
	}
}
