package notify

import (
	"cmp"
	"time"

	"github.com/belfry-go/belfry/internal/backoff"
	"github.com/belfry-go/belfry/internal/states"
	"github.com/belfry-go/belfry/internal/storable"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage/driver"
)

// restart counts tries from zero.
func restart(t *driver.Tries) { t.RetryCount, t.NextRetryOn = 0, time.Time{} }

// onHold is a hold for a reason; the caller clears DueOn.
func onHold(reason string) driver.SupportHold {
	return driver.SupportHold{IsOnSupportHold: true, HoldReason: reason}
}

const notHeld = "it is not on hold"

// tried is a row that a pass works on until it succeeds, ends or is given up: a
// schedule, a job or a messaging job, by the machine M.
type tried[M machine] struct {
	driver.Due
	driver.Tries
	driver.SupportHold
}

// machine says which states a row goes through, and which of them it has while a
// worker holds it.
type machine interface {
	states() (m *states.Machine, busy string)
}

// The machines of rows that are tried.
type (
	ofSchedules     struct{}
	ofJobs          struct{}
	ofMessagingJobs struct{}
)

func (ofSchedules) states() (*states.Machine, string)     { return &scheduleStates, StatusProcessing }
func (ofJobs) states() (*states.Machine, string)          { return &jobStates, StatusGenerating }
func (ofMessagingJobs) states() (*states.Machine, string) { return &messagingStates, StatusGenerating }

func (t *tried[M]) become(status string) {
	var of M
	m, _ := of.states()
	m.Must(t.Status, status)
	t.Status = status
}

// busy gives the row the state of one that is worked on, whatever the try under way
// had already decided.
func (t *tried[M]) busy() {
	var of M
	_, t.Status = of.states()
}

func (t *tried[M]) end(now time.Time, status string) {
	t.become(status)
	t.DueOn, t.NextRetryOn, t.EndedOn = time.Time{}, time.Time{}, now
}

func (t *tried[M]) skipped(now time.Time, reason string) {
	t.end(now, StatusSkipped)
	t.ReasonCode = reason
}

// failed is the end of a try: another one after a while, or a hold.
func (t *tried[M]) failed(now time.Time, reason string) {
	t.busy()
	t.EndedOn = time.Time{}
	if backoff.Usual.Failed(&t.Tries, now, t.Key, reason) {
		t.become(StatusReady)
		t.DueOn = t.NextRetryOn
		return
	}
	t.end(now, StatusFailed)
	t.SupportHold = onHold(reasons.RetriesExhausted)
}

// refused is a failure that another try would meet again.
func (t *tried[M]) refused(now time.Time, reason string) {
	t.busy()
	t.RetryCount++
	t.end(now, StatusFailed)
	t.ReasonCode = reason
	t.SupportHold = onHold(reasons.Refused)
}

// abandoned is a claim whose lease ran out.
func (t *tried[M]) abandoned(now time.Time) {
	t.LeaseLossCount++
	t.failed(now, reasons.LeaseLost)
}

func (t *tried[M]) released(time.Time) { t.become(StatusReady) }

func (t *tried[M]) releaseHold(now time.Time) string {
	if !t.IsOnSupportHold {
		return notHeld
	}
	if t.Status == StatusFailed {
		t.become(StatusReady)
		t.DueOn, t.EndedOn = now, time.Time{}
	}
	restart(&t.Tries)
	t.SupportHold = driver.SupportHold{}
	return ""
}

func (t *tried[M]) cancel(now time.Time) string {
	var of M
	if m, _ := of.states(); !m.Legal(t.Status, StatusCancelled) || t.Status == StatusCancelled {
		return "it is " + t.Status
	}
	t.end(now, StatusCancelled)
	t.ReasonCode, t.SupportHold = reasons.Cancelled, driver.SupportHold{}
	dropLease(&t.Due)
	return ""
}

// dropLease takes the row from the worker that has it: what that one decides is stale
// by the row's version, and the next worker need not wait for the end of its lease.
func dropLease(r *driver.Due) { r.LeaseExpiresOn, r.Abandoned = time.Time{}, false }

// isItsOwn reports whether a fault is the message's, or its address's. A policy is taken to
// be against the recipient: where it is against the account, that is out, and no try is
// counted.
func isItsOwn(f channel.Fault) bool {
	return f == channel.FaultAddress || f == channel.FaultMessage || f == channel.FaultPolicy
}

// tryLater counts a call that was not accepted, and says when to make another. What is
// the message's own fault has so many tries. Else they go on for as long as
// the message is valid, at pauses short enough that it leaves within the hour once the
// provider takes it; one that is valid for ever has its last after about a week.
func (m *messageRow) tryLater(now time.Time, f channel.Fault, reason string) (next time.Time, ok bool) {
	if isItsOwn(f) {
		ok = ownTries(m.Method).Failed(&m.Tries, now, m.Key, reason)
		return m.NextRetryOn, ok
	}
	m.RetryCount++
	m.ReasonCode, m.NextRetryOn = reason, time.Time{}
	if m.ValidUntil.IsZero() && m.RetryCount > mostTries {
		return time.Time{}, false
	}
	m.NextRetryOn = driver.Time(now.Add(m.pauseAfter(m.RetryCount)))
	return m.NextRetryOn, true
}

// pauseAfter is the pause after so many refusals that are not the message's fault.
func (m *messageRow) pauseAfter(refusals int) time.Duration {
	steps := otherTries
	if m.Method == "email" {
		steps = mailTries
	}
	pause, _ := steps.After(m.Key, min(refusals, len(steps)))
	return pause
}

// refused is a definite refusal that may not last: back-off, at least as long
// as the provider asks for. After the last try it has failed, if that is its own fault, and
// else a person decides.
func (m *messageRow) refused(now time.Time, e *channel.Error) {
	another := m.NextRetryOn // of a chain: when that one may take it
	next, ok := m.tryLater(now, e.Fault, storable.Code(e.Code))
	switch {
	case ok:
		asked := driver.Time(now.Add(min(e.RetryAfter, maxRetryAfter)))
		m.retryOn(later(another, later(asked, next)))
	case isItsOwn(e.Fault):
		m.refusedForGood(now, storable.Code(e.Code))
	default:
		m.retryOn(now)
		m.putOnHold(reasons.RetriesExhausted)
	}
}

func (m *messageRow) refusedForGood(now time.Time, reason string) {
	m.become(StatusFailedFinal)
	m.FailedOn, m.ReasonCode = now, cmp.Or(reason, reasons.Refused)
	m.DueOn, m.NextRetryOn, m.EndedOn = time.Time{}, time.Time{}, now
	m.SupportHold = driver.SupportHold{}
}

// retryOn makes the message due again for another call, or for its end.
func (m *messageRow) retryOn(next time.Time) {
	if !m.ValidUntil.IsZero() && next.After(m.ValidUntil) {
		next = m.ValidUntil
	}
	m.become(StatusRetryReady)
	m.CallStartedOn = time.Time{}
	m.DueOn, m.NextRetryOn = next, next
}

// ownTries are the pauses after refusals that are the message's own fault: a full
// mailbox is tried for two days, and who waits for a text message does not wait for long.
func ownTries(method string) backoff.Steps {
	if method == "email" {
		return backoff.Steps{5 * time.Minute, 15 * time.Minute, time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour}
	}
	return backoff.Steps{time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour, 3 * time.Hour}
}

// mailTries and otherTries are the pauses after other refusals; the last one comes again
// and again.
var (
	mailTries  = backoff.Steps{5 * time.Minute, 15 * time.Minute, 50 * time.Minute}
	otherTries = backoff.Steps{time.Minute, 5 * time.Minute, 15 * time.Minute, 50 * time.Minute}
)

// mostTries bounds the tries of a message that is valid for ever.
const mostTries = 200

// maxRetryAfter bounds how long a provider may have a message wait.
const maxRetryAfter = 24 * time.Hour

// spared is a refusal that says nothing about the message: its channel is out. No try
// is counted.
func (m *messageRow) spared(next time.Time, e *channel.Error) {
	m.ReasonCode = storable.Code(e.Code)
	m.retryOn(driver.Time(next))
}

// deferTo makes the message wait; no try is counted.
func (m *messageRow) deferTo(until time.Time, reason string) {
	m.ReasonCode = storable.Code(reason)
	m.retryOn(driver.Time(until))
}

// unasked is a try that did not come to a provider's answer: the message could
// not be revalidated, or its calls never arrived. It is tried again with
// back-off, then left to a person, since nothing refused it.
func (m *messageRow) unasked(now time.Time, reason string) {
	ok := backoff.Usual.Failed(&m.Tries, now, m.Key, reason)
	m.retryOn(m.NextRetryOn)
	if !ok {
		m.putOnHold(reasons.RetriesExhausted)
	}
}

func (m *messageRow) putOnHold(reason string) {
	m.DueOn = time.Time{}
	m.SupportHold = onHold(reason)
}
