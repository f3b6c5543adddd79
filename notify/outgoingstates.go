package notify

import (
	"cmp"
	"time"

	"github.com/belfry-go/belfry/internal/storable"
	"github.com/belfry-go/belfry/storage"
)

// maxRetryAfter bounds how long a provider may have a message wait.
const maxRetryAfter = 24 * time.Hour

func (m *OutgoingMessage) become(status string) {
	outgoingStates.Must(m.Status, status)
	m.Status = status
}

// calling is the state before a provider call; it is committed before the call.
func (m *OutgoingMessage) calling(now time.Time) {
	m.CallStartedOn = now
	m.Calls++
}

// uncalled takes calling back, since the call was not made.
func (m *OutgoingMessage) uncalled(now time.Time) {
	m.Calls--
	m.released(now)
}

// released gives a claimed message back without counting a try: its call has
// not started.
func (m *OutgoingMessage) released(now time.Time) {
	m.become(StatusRetryReady)
	m.CallStartedOn = time.Time{}
	m.DueOn = later(m.NextRetryOn, now)
}

// accepted is the provider's receipt.
func (m *OutgoingMessage) accepted(on time.Time, r Receipt) {
	m.become(StatusSentToProvider)
	m.SentOn, m.ProviderMessageID = on, storable.Code(r.ID)
	m.DueOn, m.NextRetryOn, m.ReasonCode = time.Time{}, time.Time{}, ""
	m.unhold()
}

// settled applies the result of a call.
func (m *OutgoingMessage) settled(now time.Time, r Receipt, err error) {
	switch e := Classify(err); {
	case e == nil:
		m.accepted(now, r)
	case e.Class == ClassPermanent:
		m.refusedForGood(now, storable.Code(e.Code))
	case e.Class == ClassUnknown:
		m.doubted(now, storable.Code(e.Code))
	default:
		m.refused(now, e)
	}
}

// refused is a definite refusal that may not last: back-off, at least as long
// as the provider asks for, then FailedFinal.
func (m *OutgoingMessage) refused(now time.Time, e *SendError) {
	next, ok := m.Tries.failed(now, m.Key, storable.Code(e.Code))
	if !ok {
		m.refusedForGood(now, storable.Code(e.Code))
		return
	}
	asked := storage.Time(now.Add(min(e.RetryAfter, maxRetryAfter)))
	m.retryOn(later(asked, next))
}

func (m *OutgoingMessage) refusedForGood(now time.Time, reason string) {
	m.become(StatusFailedFinal)
	m.ReasonCode = cmp.Or(reason, ReasonRefused)
	m.DueOn, m.NextRetryOn, m.EndedOn = time.Time{}, time.Time{}, now
	m.unhold()
}

// retryOn makes the message due again for another call.
func (m *OutgoingMessage) retryOn(next time.Time) {
	m.become(StatusRetryReady)
	m.CallStartedOn = time.Time{}
	m.DueOn, m.NextRetryOn = next, next
}

// doubted is a call of which nobody knows whether it delivered: visible, due
// now for the resolve pass, and not yet on hold.
func (m *OutgoingMessage) doubted(now time.Time, reason string) {
	m.become(StatusOutcomeUnknown)
	m.Doubts++
	m.Lookups, m.Resolution, m.ResolvedOn = 0, "", time.Time{}
	m.ReasonCode = cmp.Or(reason, ReasonInDoubt)
	m.DueOn, m.NextRetryOn = now, time.Time{}
}

// abandoned is a claim whose lease ran out: in doubt if a call had started,
// else given back uncounted. A claim of the distributor may also take over a
// row that a resolver held; that row is in doubt as before.
func (m *OutgoingMessage) abandoned(now time.Time) {
	m.LeaseLossCount++
	switch {
	case m.Status == StatusOutcomeUnknown:
		m.DueOn = now
	case m.Status != StatusSending:
	case m.CallStartedOn.IsZero():
		m.released(now)
	default:
		m.doubted(now, ReasonLeaseLost)
	}
}

// skip ends a message that is no longer wanted.
func (m *OutgoingMessage) skip(now time.Time, reason string) {
	m.become(StatusSkipped)
	m.ReasonCode = storable.Code(reason)
	m.DueOn, m.NextRetryOn, m.EndedOn = time.Time{}, time.Time{}, now
}

// deferTo makes the message wait; no try is counted.
func (m *OutgoingMessage) deferTo(until time.Time, reason string) {
	m.ReasonCode = storable.Code(reason)
	m.retryOn(storage.Time(until))
}

// unasked is a try that did not come to a provider's answer: the message could
// not be revalidated, or its calls never arrived. It is tried again with
// back-off, then left to a person, since nothing refused it.
func (m *OutgoingMessage) unasked(now time.Time, reason string) {
	next, ok := m.Tries.failed(now, m.Key, reason)
	m.retryOn(next)
	if !ok {
		m.putOnHold(HoldRetries)
	}
}

func (m *OutgoingMessage) putOnHold(reason string) {
	m.DueOn = time.Time{}
	m.put(reason)
}

// conflicted stops a message of a job whose messages stand for something else.
func (m *OutgoingMessage) conflicted() {
	m.ReasonCode = ReasonConflict
	m.putOnHold(HoldConflict)
}

func (m *OutgoingMessage) unhold() { m.IsOnSupportHold, m.HoldReason = false, "" }
