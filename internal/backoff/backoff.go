// Package backoff computes retry times. The usual schedule, which automation and notify
// share, is that of (Automation & Reminders, "Processing"): 5 minutes, 15 minutes, 1
// hour, hold.
package backoff

import (
	"hash/fnv"
	"io"
	"strconv"
	"time"

	"github.com/belfry-go/belfry/storage/driver"
)

// Steps are the waits after the first failure, the second and so on; one more
// failure than there are steps is too many.
type Steps []time.Duration

// Usual are the steps of automation, schedules and jobs.
var Usual = Steps{5 * time.Minute, 15 * time.Minute, time.Hour}

// After is Steps.After of the usual steps.
func After(key string, failures int) (time.Duration, bool) { return Usual.After(key, failures) }

// After returns how long to wait after so many failures in a row, and false if there are
// too many and a person has to decide. Up to a tenth is added, derived from key, so that
// rows that failed together are not all retried together, and a repeat computes the same
// time. It is never less than the step. Without failures the wait is zero.
func (steps Steps) After(key string, failures int) (time.Duration, bool) {
	switch {
	case failures <= 0:
		return 0, true
	case failures > len(steps):
		return 0, false
	}
	step := steps[failures-1]
	return step + jitter(key, failures, step/10), true
}

// Failed counts a failed try and says in t when to make another; it is false if that
// was the last one.
func (steps Steps) Failed(t *driver.Tries, now time.Time, key, reason string) bool {
	t.RetryCount++
	t.ReasonCode, t.NextRetryOn = reason, time.Time{}
	wait, more := steps.After(key, t.RetryCount)
	if more {
		t.NextRetryOn = driver.Time(now.Add(wait))
	}
	return more
}

// jitter is from zero to less than limit, in whole microseconds.
func jitter(key string, failures int, limit time.Duration) time.Duration {
	h := fnv.New64a()
	_, _ = io.WriteString(h, strconv.Itoa(failures)+":"+key) // a hash never fails
	return time.Duration(h.Sum64()%uint64(limit/time.Microsecond)) * time.Microsecond
}

// Period returns every with up to a tenth added, derived from key, so that what
// recurs in the same rhythm under many keys does not all come at once. It is
// never less than every, which must be at least ten microseconds.
func Period(key string, every time.Duration) time.Duration {
	return every + jitter(key, 0, every/10)
}
