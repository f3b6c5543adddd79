package survey

import (
	"slices"
	"time"

	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/survey/form"
)

// expire ends the instance. What was still to be sent is not.
func (i *instanceRow) expire(now time.Time) {
	switch {
	case !i.ExpiresOn.IsZero() && !now.Before(i.ExpiresOn):
		i.ReasonCode = reasons.ExpiresAfter
	case !i.NextSendOn.IsZero():
		i.ReasonCode = reasons.TooLate
	}
	i.become(StatusExpired)
	i.settleCall()
	if i.StoppedOn.IsZero() || !i.NextSendOn.IsZero() {
		i.StoppedOn = now
	}
	i.NextSendOn, i.EndedOn = time.Time{}, now
}

// isOpen says whether the link may still be sent, opened and answered.
func (i *instanceRow) isOpen() bool { return slices.Contains(active, i.Status) && i.DeletedOn.IsZero() }

// sendOn is when the next send may be made; only of a schedule that runs.
func (i *instanceRow) sendOn() time.Time { return later(i.NextSendOn, i.NextTryOn) }

// endsOn is when the instance expires, as things are: after the grace since the
// last send, or since the event if there was none, but not before the schedule
// stopped. While a send is scheduled it is the moment from which on that is too
// late to be made. The absolute limit comes before all.
func (i *instanceRow) endsOn(grace time.Duration) time.Time {
	var ends time.Time
	switch {
	case !i.NextSendOn.IsZero():
		ends = i.NextSendOn.Add(grace)
	case !i.LastSentOn.IsZero():
		ends = i.LastSentOn.Add(grace)
	default:
		ends = later(i.TriggeredOn.Add(grace), i.StoppedOn)
	}
	if !i.ExpiresOn.IsZero() && i.ExpiresOn.Before(ends) {
		ends = i.ExpiresOn
	}
	return ends
}

// due says when a poller looks at the instance, zero being never, and whether it is for a
// send: while a message is on its way it is for the end of the link.
func (i *instanceRow) due(grace time.Duration) (on time.Time, sends bool) {
	if !i.isOpen() || i.IsOnSupportHold {
		return time.Time{}, false
	}
	ends := i.endsOn(grace)
	if i.NextSendOn.IsZero() || i.Queued || !i.sendOn().Before(ends) {
		return ends, false
	}
	return i.sendOn(), true
}

// sendKind is the Kind of rows that are due for a send. Those of none are everybody's.
const sendKind = NotificationType

// plan sets when the row is due next, and for whom.
func (i *instanceRow) plan(grace time.Duration) {
	on, sends := i.due(grace)
	i.DueOn, i.Kind = driver.Time(on), ""
	if sends {
		i.Kind = sendKind
	}
}

// lookAgain makes the row due at once, for a pass that plans it: who calls this
// does not know the grace.
func (i *instanceRow) lookAgain(now time.Time) {
	i.DueOn, i.Kind = now, ""
	switch {
	case !i.isOpen() || i.IsOnSupportHold:
		i.DueOn = time.Time{}
	case !i.NextSendOn.IsZero() && !i.Queued:
		i.Kind = sendKind
		i.DueOn = later(now, i.NextTryOn)
	}
}

// notAgainAtOnce is for a link that is over, and whose message is called at this moment: it
// ends with the call.
func (i *instanceRow) notAgainAtOnce(now time.Time) {
	if i.Queued && !i.DueOn.IsZero() && !i.DueOn.After(now) {
		i.DueOn = now.Add(olderWaits)
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// advance says what follows a send (Triggers & Scheduler, "What advance NextSendAt
// actually does"): when the next one is due, and how many reminders are left to be
// scheduled after it; the zero time if that was the last one.
func advance(reminders []form.Duration, remaining int, sentOn time.Time) (next time.Time, left int) {
	index := len(reminders) - remaining
	if index < 0 || index >= len(reminders) {
		return time.Time{}, 0
	}
	return sentOn.Add(time.Duration(reminders[index])), remaining - 1
}
