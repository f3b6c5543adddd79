package notify

import (
	"time"
)

func (j *MessagingJob) become(status string) {
	messagingStates.Must(j.Status, status)
	j.Status = status
}

// wake is as that of a [Job]. One that is paused stays so, and goes on when it is
// resumed.
func (j *MessagingJob) wake(now time.Time, skip string) bool {
	waits := j.Status == StatusCreated || j.Status == StatusPaused && j.StartedOn.IsZero()
	switch {
	case !waits:
		return false
	case skip != "":
		j.skipped(now, skip)
		return true
	}
	j.StartedOn = now
	if j.Status == StatusCreated {
		j.become(StatusReady)
		j.DueOn = now
	}
	return true
}

// goOn makes the job due for its next chunk.
func (j *MessagingJob) goOn(now time.Time) {
	j.become(StatusReady)
	j.afresh()
	j.DueOn, j.ReasonCode = now, ""
}

func (j *MessagingJob) generated(now time.Time) {
	j.end(now, StatusGenerated)
	j.afresh()
	j.ReasonCode = ""
}

func (j *MessagingJob) skipped(now time.Time, reason string) {
	j.end(now, StatusSkipped)
	j.ReasonCode = reason
}

func (j *MessagingJob) end(now time.Time, status string) {
	j.become(status)
	j.DueOn, j.NextRetryOn, j.EndedOn = time.Time{}, time.Time{}, now
}

// failed is the end of a try, whatever that try had already decided. The cursor
// stays in front of the chunk.
func (j *MessagingJob) failed(now time.Time, reason string) {
	j.Status, j.EndedOn = StatusGenerating, time.Time{}
	next, ok := j.Tries.failed(now, j.Key, reason)
	j.DueOn, j.ChunkOn = next, time.Time{}
	if ok {
		j.become(StatusReady)
		return
	}
	j.end(now, StatusFailed)
	j.put(HoldRetries)
}

// refused is a failure that another try would meet again.
func (j *MessagingJob) refused(now time.Time, reason string) {
	j.Status = StatusGenerating
	j.RetryCount++
	j.end(now, StatusFailed)
	j.ReasonCode = reason
	j.put(HoldRefused)
}

// stopped ends a campaign whose payload or messages stand for something else.
func (j *MessagingJob) stopped(now time.Time, reason string) {
	j.Status = StatusGenerating
	j.end(now, StatusStopped)
	j.ReasonCode = reason
	j.put(HoldConflict)
}

// abandoned is a claim whose lease ran out. Both passes over campaigns may take
// over from each other, and the one that makes messages has given the row its own
// status then: a cancelled campaign goes back at once.
func (j *MessagingJob) abandoned(now time.Time) {
	j.LeaseLossCount++
	if !j.CancelledOn.IsZero() {
		j.become(StatusCancelled)
		j.DueOn = now
		return
	}
	j.failed(now, ReasonLeaseLost)
}

func (j *MessagingJob) released(time.Time) {
	if j.Status == StatusGenerating {
		j.become(StatusReady)
	}
}

// pause takes effect between two chunks: one that is under way is dropped.
func (j *MessagingJob) pause(time.Time) string {
	if !messagingStates.Legal(j.Status, StatusPaused) || j.Status == StatusPaused {
		return "it is " + j.Status
	}
	j.become(StatusPaused)
	j.DueOn, j.ChunkOn = time.Time{}, time.Time{}
	j.dropLease()
	return ""
}

// resume goes on where the campaign was, or waits for its schedule as before.
func (j *MessagingJob) resume(now time.Time) string {
	if j.Status != StatusPaused {
		return "it is " + j.Status + ", not paused"
	}
	j.dropLease()
	if j.StartedOn.IsZero() {
		j.become(StatusCreated)
		return ""
	}
	j.goOn(now)
	return ""
}

// cancel is for good. It is due until its messages are cancelled too.
func (j *MessagingJob) cancel(now time.Time) string {
	if !messagingStates.Legal(j.Status, StatusCancelled) || j.Status == StatusCancelled {
		return "it is " + j.Status
	}
	j.end(now, StatusCancelled)
	j.CancelledOn = now
	j.ReasonCode = ReasonCampaignCancelled
	j.SupportHold = SupportHold{}
	if !j.StartedOn.IsZero() {
		j.DueOn = now
	}
	j.dropLease()
	return ""
}

func (j *MessagingJob) releaseHold(now time.Time) string {
	if !j.IsOnSupportHold {
		return notHeld
	}
	if j.ReasonCode == ReasonHashKey {
		j.HashKey = anyHashKey // from here on the present one counts
	}
	j.SupportHold, j.EndedOn = SupportHold{}, time.Time{}
	j.goOn(now)
	return ""
}

// dropLease takes the row from the worker that has it: its chunk is stale by the
// row's version, and whoever comes next need not wait for the end of its lease.
func (j *MessagingJob) dropLease() { j.LeaseExpiresOn, j.Abandoned = time.Time{}, false }

// cancelled ends a message that has not been sent.
func (m *OutgoingMessage) cancelled(now time.Time, reason string) {
	m.become(StatusCancelled)
	m.ReasonCode = reason
	m.DueOn, m.NextRetryOn, m.EndedOn = time.Time{}, time.Time{}, now
	m.CallStartedOn = time.Time{}
	m.unhold()
}
