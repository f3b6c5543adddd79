package survey

import (
	"cmp"
	"time"

	"github.com/belfry-go/belfry/internal/backoff"
	"github.com/belfry-go/belfry/internal/storable"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
)

// waits are the pauses after failed tries of one send; after one failure more the
// schedule stops.
var waits = backoff.Steps{5 * time.Minute, 15 * time.Minute, time.Hour, 6 * time.Hour, 24 * time.Hour}

// maxRetryAfter bounds how long a provider may have a send wait.
const maxRetryAfter = 24 * time.Hour

func (i *Instance) become(status string) {
	machine.Must(i.Status, status)
	i.Status = status
}

// calling is the state before a call of the channel; it is committed before it.
func (i *Instance) calling(now time.Time) {
	i.CallStartedOn = now
	i.Calls++
}

// uncalled takes calling back, since the call was not made.
func (i *Instance) uncalled() {
	i.CallStartedOn = time.Time{}
	i.Calls--
}

// sent advances the schedule behind a send that was made, or is taken for made.
func (i *Instance) sent(on time.Time, reminders []Duration) {
	if i.Status == StatusPending {
		i.become(StatusSent)
	}
	i.LastSentOn = on
	i.SendOrdinal++
	i.settleCall()
	i.Tries, i.ReasonCode = 0, ""
	i.NextSendOn, i.RemindersRemaining = advance(reminders, i.RemindersRemaining, on)
	if i.NextSendOn.IsZero() {
		i.StoppedOn = on
	}
}

// settleCall ends the call under way, and whatever held the send up.
func (i *Instance) settleCall() {
	i.CallStartedOn, i.InDoubt, i.NextTryOn = time.Time{}, false, time.Time{}
}

// failed is a try that came to nothing: back-off, at least as long as the provider
// asks for; the last one stops the schedule.
func (i *Instance) failed(now time.Time, reason string, retryAfter time.Duration) {
	i.settleCall()
	i.Tries++
	i.ReasonCode = reason
	wait, ok := waits.After(i.PublicID, i.Tries)
	if !ok {
		i.stop(now, reason)
		return
	}
	i.NextTryOn = storage.Time(now.Add(max(wait, min(retryAfter, maxRetryAfter))))
}

// stop ends the schedule before its time. The row expires later.
func (i *Instance) stop(now time.Time, reason string) {
	i.settleCall()
	i.NextSendOn, i.StoppedOn, i.ReasonCode = time.Time{}, now, reason
}

// settled applies the result of a call and logs it.
func (i *Instance) settled(now time.Time, reminders []Duration, r notify.Receipt, err error) {
	e := notify.Classify(err)
	switch {
	case e == nil:
		i.logCall(now, DeliveryDelivered, r.ID, "")
		i.sent(now, reminders)
	case e.Class == notify.ClassUnknown:
		i.doubted(now, storable.Code(e.Code))
	case e.Class == notify.ClassPermanent:
		reason := cmp.Or(storable.Code(e.Code), ReasonRefused)
		i.logCall(now, DeliveryRefused, "", reason)
		i.stop(now, reason)
	default:
		reason := cmp.Or(storable.Code(e.Code), ReasonRefused)
		i.logCall(now, DeliveryFailed, "", reason)
		i.failed(now, reason, e.RetryAfter)
	}
}

// doubted is a call of which nobody knows whether it sent: the next claim decides.
func (i *Instance) doubted(now time.Time, reason string) {
	i.logCall(now, DeliveryUnknown, "", cmp.Or(reason, ReasonInDoubt))
	i.InDoubt, i.ReasonCode = true, cmp.Or(reason, ReasonInDoubt)
}

// abandoned is a claim whose lease ran out: in doubt if a call had started, else a
// failed try, since one row may bring down whoever takes it.
func (i *Instance) abandoned(now time.Time) {
	switch {
	case !i.isOpen():
	case !i.CallStartedOn.IsZero() && !i.InDoubt:
		i.doubted(now, ReasonLeaseLost)
	case i.CallStartedOn.IsZero() && !i.NextSendOn.IsZero():
		i.failed(now, ReasonLeaseLost, 0)
	}
	i.lookAgain(now)
}

// passFailed settles a row whose group failed, or whose result could not be stored
// as it was: what was decided stands.
func (i *Instance) passFailed(now time.Time) {
	switch {
	case !i.isOpen() || len(i.Log) > 0:
	case !i.CallStartedOn.IsZero() && !i.InDoubt:
		i.doubted(now, ReasonPassFailed)
	case !i.NextSendOn.IsZero() && !i.InDoubt:
		i.failed(now, ReasonPassFailed, 0)
	default: // nothing to count: it is looked at again
		i.lookAgain(now.Add(waits[0]))
		return
	}
	i.lookAgain(now)
}

// hold keeps the row from being due until a person decides.
func (i *Instance) hold(reason string) {
	i.IsOnSupportHold, i.ReasonCode = true, reason
}

// expire ends the instance. What was still to be sent is not.
func (i *Instance) expire(now time.Time) {
	switch {
	case !i.ExpiresOn.IsZero() && !now.Before(i.ExpiresOn):
		i.ReasonCode = ReasonLimit
	case !i.NextSendOn.IsZero():
		i.ReasonCode = ReasonTooLate
	}
	i.become(StatusExpired)
	i.settleCall()
	if i.StoppedOn.IsZero() || !i.NextSendOn.IsZero() {
		i.StoppedOn = now
	}
	i.NextSendOn, i.EndedOn = time.Time{}, now
}
