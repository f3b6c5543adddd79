package notify

import (
	"slices"
	"time"

	"github.com/belfry-go/belfry/storage"
)

// mergeSent brings the result of a finished call into a row that somebody else
// wrote meanwhile, as a webhook would: it is never dropped, and no status goes
// backwards.
func (n *Notifier) mergeSent(stored, mine *OutgoingMessage, held bool) bool {
	now := storage.Now(n.store)
	if held && stored.Status == StatusSending {
		stored.take(mine) // the other writer did not decide anything
		return true
	}
	switch mine.Status {
	case StatusSentToProvider:
		return stored.lateAcceptance(now, mine)
	case StatusFailedFinal:
		return stored.lateRefusal(now, mine, StatusOutcomeUnknown, StatusRetryReady)
	case StatusRetryReady:
		return stored.lateRefusal(now, mine, StatusOutcomeUnknown)
	}
	return false
}

// mergeResolved brings a resolver's decision, if nobody has decided meanwhile.
func (n *Notifier) mergeResolved(stored, mine *OutgoingMessage, held bool) bool {
	switch {
	case held && stored.Status == StatusOutcomeUnknown && !stored.IsOnSupportHold:
		stored.take(mine)
		return true
	case mine.Status == StatusSentToProvider && mine.Resolution == ResolvedByLookup:
		return stored.lateAcceptance(storage.Now(n.store), mine)
	}
	return false
}

// take copies what the pipeline decided.
func (m *OutgoingMessage) take(from *OutgoingMessage) {
	m.become(from.Status)
	m.DueOn = from.DueOn
	m.Progress, m.Tries, m.SupportHold = from.Progress, from.Tries, from.SupportHold
}

// lateAcceptance applies a receipt. A message that has ended otherwise keeps
// its status and gains the fact.
func (m *OutgoingMessage) lateAcceptance(now time.Time, mine *OutgoingMessage) bool {
	switch m.Status {
	case StatusRetryReady, StatusSending, StatusOutcomeUnknown:
		m.resolvedLate(now)
		m.accepted(mine.SentOn, Receipt{ID: mine.ProviderMessageID})
		m.CallStartedOn, m.Calls = mine.CallStartedOn, max(m.Calls, mine.Calls)
		return true
	}
	if m.ProviderMessageID != "" || mine.ProviderMessageID == "" && !m.SentOn.IsZero() {
		return false
	}
	m.SentOn, m.ProviderMessageID = mine.SentOn, mine.ProviderMessageID
	return true
}

// lateRefusal applies a definite refusal, and the news that a call was not made,
// where the stored row still depends on it. A message that was only assumed to
// be sent fails, since now the provider has said so.
func (m *OutgoingMessage) lateRefusal(now time.Time, mine *OutgoingMessage, open ...string) bool {
	assumed := mine.Status == StatusFailedFinal && m.Status == StatusSentToProvider && m.Resolution == ResolvedByAssumption
	if !assumed && !slices.Contains(open, m.Status) {
		return false
	}
	if m.Calls > mine.Calls {
		return false // a later call is what the row is about
	}
	m.resolvedLate(now)
	m.become(mine.Status)
	m.DueOn, m.NextRetryOn, m.EndedOn = mine.DueOn, mine.NextRetryOn, mine.EndedOn
	m.CallStartedOn, m.SentOn = mine.CallStartedOn, mine.SentOn
	m.RetryCount, m.ReasonCode = max(m.RetryCount, mine.RetryCount), mine.ReasonCode
	m.unhold()
	return true
}

// resolvedLate notes that the call's own answer settles a doubt.
func (m *OutgoingMessage) resolvedLate(now time.Time) {
	if m.Doubts > 0 {
		m.resolved(now, ResolvedByCall)
	}
}
