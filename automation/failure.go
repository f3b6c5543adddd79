package automation

import (
	"errors"
	"time"

	"github.com/belfry-go/belfry/internal/backoff"
	"github.com/belfry-go/belfry/internal/work"
)

// Long-running types go on once a day after the usual steps, so many times.
const (
	dailyRetry   = 24 * time.Hour
	dailyRetries = 7
)

// fail records a failed try: the next one after 5 minutes, 15 minutes and an
// hour, then Failed and on hold (Automation & Reminders, "Processing"). The
// stored row is Processing, whatever a handler made of this copy.
func (r *Schedule) fail(now time.Time, err error, longRunning bool) {
	r.Diagnostics = storable(err.Error())
	r.ReasonCode = HandlerFailed
	if isPanic(err) {
		r.ReasonCode = HandlerPanicked
	}
	r.Status = StatusProcessing
	if isPermanent(err) {
		r.RetryCount++
		r.giveUp(now, PermanentFailure)
		return
	}
	r.retry(now, longRunning)
}

// lose records that the lease ran out in somebody else's hands.
func (r *Schedule) lose(now time.Time, longRunning bool) {
	r.LeaseLossCount++
	r.ReasonCode = LeaseExpired
	r.retry(now, longRunning)
}

// undecodable gives up on a row that this version cannot read.
func (r *Schedule) undecodable(now time.Time, err error) {
	r.Diagnostics = storable(err.Error())
	r.ReasonCode = Undecodable
	r.giveUp(now, Undecodable)
}

func (r *Schedule) retry(now time.Time, longRunning bool) {
	r.RetryCount++
	wait, more := retryAfter(r.Key, r.RetryCount, longRunning)
	if !more {
		r.giveUp(now, RetriesExhausted)
		return
	}
	r.NextRetryOn = now.Add(wait)
	r.to(now, StatusPending)
}

func (r *Schedule) giveUp(now time.Time, why Reason) {
	r.to(now, StatusFailed)
	r.hold(why, r.Diagnostics)
}

func retryAfter(key string, failures int, longRunning bool) (time.Duration, bool) {
	wait, more := backoff.After(key, failures)
	if more || !longRunning {
		return wait, more
	}
	_, usual := backoff.After(key, failures-dailyRetries)
	return dailyRetry, usual
}

func isPanic(err error) bool {
	var p *work.PanicError
	return errors.As(err, &p)
}
