package notify

import (
	"cmp"
	"time"

	"github.com/belfry-go/belfry/storage"
)

func (m *OutgoingMessage) resolved(now time.Time, how Resolution) {
	m.Resolution, m.ResolvedOn = how, now
}

// absent is the provider's word that the call did not reach it. The first time
// the message is due at once; from then on it counts as a failed try. After the
// last one it has failed, unless it was our workers that died: nobody has
// refused the message then, so a person decides.
func (m *OutgoingMessage) absent(now time.Time) {
	died := m.ReasonCode == ReasonLeaseLost
	m.resolved(now, ResolvedByLookup)
	m.ReasonCode = ReasonAbsent
	switch {
	case m.Doubts <= 1:
		m.retryOn(now)
	case died:
		m.unasked(now, ReasonLeaseLost)
	default:
		m.refused(now, Transient(ReasonAbsent, 0, nil))
	}
}

// sendAgain makes a message due whose repeat is allowed. The first time it is
// due at once; from then on it counts as a failed try, since a provider that
// never answers would otherwise be called without end, and after the last one
// a person decides.
func (m *OutgoingMessage) sendAgain(now time.Time, how Resolution) {
	if m.Doubts <= 1 {
		m.retryOn(now)
		m.resolved(now, how)
		return
	}
	next, ok := m.Tries.failed(now, m.Key, m.ReasonCode)
	if !ok {
		m.holdInDoubt(now)
		return
	}
	m.retryOn(next)
	m.resolved(now, how)
}

// inWindow reports whether the provider still takes a repeat of the first call
// for the same message. If so it notes until when, since the repeat may be late.
func (m *OutgoingMessage) inWindow(now time.Time, window time.Duration) bool {
	until := m.IdempotentUntil
	if until.IsZero() {
		until = storage.Time(m.CallStartedOn.Add(window))
	}
	if !now.Before(until) {
		return false
	}
	m.IdempotentUntil = until
	return true
}

// calledOn is when the call in doubt began, as far as that is known.
func (m *OutgoingMessage) calledOn(now time.Time) time.Time { return cmp.Or(m.CallStartedOn, now) }

// askAgain waits for the provider to know more. After the last pause the next
// claim does without its answer.
func (m *OutgoingMessage) askAgain(now time.Time) {
	wait := time.Duration(0)
	if m.Lookups < len(lookupWaits) {
		wait = lookupWaits[m.Lookups]
	}
	m.Lookups++
	m.DueOn = now.Add(wait)
}

// unresolved is a try to resolve that failed as a whole.
func (m *OutgoingMessage) unresolved(now time.Time) {
	if m.Status == StatusOutcomeUnknown {
		m.askAgain(now.Add(lookupWaits[0]))
	}
}

// holdInDoubt leaves the decision to a person: only a webhook or an audited
// support decision goes on.
func (m *OutgoingMessage) holdInDoubt(now time.Time) {
	m.resolved(now, ResolvedByHold)
	m.putOnHold(HoldInDoubt)
}
