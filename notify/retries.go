package notify

import (
	"errors"
	"time"

	"github.com/belfry-go/belfry/internal/backoff"
	"github.com/belfry-go/belfry/internal/storable"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage"
)

// failed counts a failure and says when to try again, or false if that was the
// last try.
func (t *Tries) failed(now time.Time, key, reason string) (next time.Time, ok bool) {
	t.RetryCount++
	t.ReasonCode = reason
	wait, ok := backoff.After(key, t.RetryCount)
	if !ok {
		t.NextRetryOn = time.Time{}
		return time.Time{}, false
	}
	t.NextRetryOn = storage.Time(now.Add(wait))
	return t.NextRetryOn, true
}

// put sets the hold; the caller clears DueOn.
func (h *SupportHold) put(reason string) { h.IsOnSupportHold, h.HoldReason = true, reason }

// forGood reports errors that another try would meet again.
func forGood(err error) bool {
	var e *SendError
	var part *keys.PartError
	return errors.Is(err, ErrContent) || errors.As(err, &part) || errors.As(err, &e) && e.Class == ClassPermanent
}

// reasonOf is the code that an error is remembered by; its text may be personal.
func reasonOf(err error, other string) string {
	var e *SendError
	if errors.As(err, &e) && e.Code != "" {
		return storable.Code(e.Code)
	}
	return other
}
