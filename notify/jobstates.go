package notify

import "time"

func (j *Job) become(status string) {
	jobStates.Must(j.Status, status)
	j.Status = status
}

func (j *Job) generated(now time.Time) { j.end(now, StatusGenerated) }

func (j *Job) skipped(now time.Time, reason string) {
	j.end(now, StatusSkipped)
	j.ReasonCode = reason
}

func (j *Job) end(now time.Time, status string) {
	j.become(status)
	j.DueOn, j.NextRetryOn, j.EndedOn = time.Time{}, time.Time{}, now
}

// failed is the end of a try, whatever that try had already decided.
func (j *Job) failed(now time.Time, reason string) {
	j.Status, j.EndedOn = StatusGenerating, time.Time{}
	next, ok := j.Tries.failed(now, j.Key, reason)
	j.DueOn = next
	if ok {
		j.become(StatusReady)
		return
	}
	j.hold(now, HoldRetries)
}

// refused is a failure that another try would meet again.
func (j *Job) refused(now time.Time, reason string) {
	j.Status = StatusGenerating
	j.RetryCount++
	j.ReasonCode = reason
	j.hold(now, HoldRefused)
}

func (j *Job) hold(now time.Time, reason string) {
	j.end(now, StatusFailed)
	j.put(reason)
}

func (j *Job) abandoned(now time.Time) {
	j.LeaseLossCount++
	j.failed(now, ReasonLeaseLost)
}

func (j *Job) released(time.Time) { j.become(StatusReady) }

// conflicted stops a job whose messages stand for something else.
func (j *Job) conflicted() {
	j.ReasonCode = ReasonConflict
	j.put(HoldConflict)
}
