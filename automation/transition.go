package automation

import (
	"strings"
	"time"

	"github.com/belfry-go/belfry/notify"
)

// to changes the status, and whatever follows from it.
func (r *Schedule) to(now time.Time, status string) {
	machine.Must(r.Status, status)
	r.Status = status
	r.EndedOn = time.Time{}
	if !r.IsOpen() {
		r.EndedOn, r.NextRetryOn = now, time.Time{}
	}
	r.DueOn = r.dueOn()
}

// complete says that delivery work is queued where d says.
func (r *Schedule) complete(now time.Time, d notify.DispatchResult) {
	r.ReasonCode, r.Diagnostics = "", ""
	r.mergeResult(d)
	r.to(now, StatusCompleted)
}

// deactivate says that the work is no longer wanted. Under a worker it leaves
// lease and token alone; the new version makes the worker's settling stale.
func (r *Schedule) deactivate(now time.Time, why Reason) {
	r.ReasonCode = why
	r.to(now, StatusDeactivated)
}

// skip deactivates a row at its moment and keeps the reason with the results.
func (r *Schedule) skip(now time.Time, why Reason) {
	r.mergeResult(notify.DispatchResult{Path: notify.PathSkipped, SkippedReason: string(why)})
	r.deactivate(now, why)
}

// giveBack ends a claim without counting a try.
func (r *Schedule) giveBack(now time.Time) { r.to(now, StatusPending) }

// reactivate makes the row Pending again; attempts and diagnostics stay, and so
// does a hold.
func (r *Schedule) reactivate(now time.Time) {
	r.NextRetryOn = time.Time{}
	r.dropExpiredLease(now)
	r.to(now, StatusPending)
}

// dropExpiredLease keeps the next claim from counting a loss that was none: the
// lease was left by a worker whose row somebody else ended.
func (r *Schedule) dropExpiredLease(now time.Time) {
	if !r.LeaseExpiresOn.After(now) {
		r.LeaseExpiresOn, r.Abandoned = time.Time{}, false
	}
}

// hold keeps the row from being due until a person releases it. The first
// reason stands.
func (r *Schedule) hold(why Reason, detail string) bool {
	if r.IsOnSupportHold {
		return false
	}
	r.IsOnSupportHold, r.HoldReason, r.HoldDetail = true, why, storable(detail)
	r.DueOn = time.Time{}
	return true
}

// unhold ends a hold; what was given up under it starts afresh.
func (r *Schedule) unhold(now time.Time) {
	r.IsOnSupportHold, r.HoldReason, r.HoldDetail = false, "", ""
	if r.Status == StatusFailed || r.Status == StatusCancelled {
		r.RetryCount = 0
		r.reactivate(now)
	}
	r.dropExpiredLease(now)
	r.DueOn = r.dueOn()
}

// storable makes a text that every database takes, of at most 500 bytes.
func storable(s string) string {
	return cut(strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", ""), "?"), 500)
}

// cut leaves at most n bytes of s, and whole characters.
func cut(s string, n int) string {
	if len(s) > n {
		s = strings.ToValidUTF8(s[:n], "")
	}
	return s
}
