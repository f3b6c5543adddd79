package automation

import (
	"context"
	"fmt"
	"time"

	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/storage"
)

// ErrActionRefused says that a support action makes no sense for a row as it is
// now; the text says why. Nothing was written.
var ErrActionRefused = audit.ErrRefused

// Hold keeps a row from being due until it is released. Completed rows are
// refused, and rows that are on hold already. What a worker decides about it at
// this moment is dropped.
//
// Like Release, Retry and Cancel it writes who did it and why into the audit, in
// the same transaction, and returns storage.ErrNotFound where scope has no such
// key.
func (s *Scheduler) Hold(ctx context.Context, scope Scope, key string, by By) error {
	return s.act(ctx, scope, key, ActionHold, by)
}

// Release ends a hold. A row that is Failed or Cancelled becomes Pending with
// its tries counted from zero, any other stays what it is.
func (s *Scheduler) Release(ctx context.Context, scope Scope, key string, by By) error {
	return s.act(ctx, scope, key, ActionRelease, by)
}

// Retry makes a row that failed, was ended or waits for its next try due at
// once, with its tries counted from zero, and ends a hold. It is validated again
// like any other row.
func (s *Scheduler) Retry(ctx context.Context, scope Scope, key string, by By) error {
	return s.act(ctx, scope, key, ActionRetry, by)
}

// Cancel stops a row for good: it is Cancelled and on hold, so that no Ensure
// revives it, only Release or Retry. What a worker decides about it at this
// moment is dropped. Completed and Cancelled rows are refused.
func (s *Scheduler) Cancel(ctx context.Context, scope Scope, key string, by By) error {
	return s.act(ctx, scope, key, ActionCancel, by)
}

// supportActions change a row as support wants it, or return why they refuse.
var supportActions = map[Action]func(r *Schedule, now time.Time, by By) (refused string){
	ActionHold:    (*Schedule).supportHold,
	ActionRelease: (*Schedule).supportRelease,
	ActionRetry:   (*Schedule).supportRetry,
	ActionCancel:  (*Schedule).supportCancel,
}

func (r *Schedule) supportHold(now time.Time, by By) string {
	switch {
	case r.Status == StatusCompleted:
		return "it is Completed"
	case r.IsOnSupportHold:
		return "it is on hold already"
	case r.Status == StatusProcessing:
		r.giveBack(now)
	}
	r.hold(HeldBySupport, by.Reason)
	return ""
}

func (r *Schedule) supportRelease(now time.Time, _ By) string {
	if !r.IsOnSupportHold {
		return "it is not on hold"
	}
	r.unhold(now)
	return ""
}

func (r *Schedule) supportRetry(now time.Time, _ By) string {
	switch {
	case r.Status == StatusCompleted || r.Status == StatusProcessing:
		return "it is " + r.Status
	case r.Status == StatusPending && r.NextRetryOn.IsZero() && !r.IsOnSupportHold:
		return "it waits for its moment, not for a retry"
	}
	r.RetryCount = 0
	r.reactivate(now)
	r.unhold(now)
	return ""
}

func (r *Schedule) supportCancel(now time.Time, by By) string {
	if r.Status == StatusCompleted || r.Status == StatusCancelled {
		return "it is " + r.Status
	}
	r.to(now, StatusCancelled)
	r.ReasonCode = CancelledBySupport
	r.IsOnSupportHold = false
	r.hold(CancelledBySupport, by.Reason)
	return ""
}

// act changes one row and writes the audit beside it.
func (s *Scheduler) act(ctx context.Context, scope Scope, key string, action Action, by By) error {
	if err := by.Check(); err != nil {
		return fmt.Errorf("automation: %w", err)
	}
	err := s.inTx(ctx, func(tx storage.Tx) error {
		row, err := schedules.Get(ctx, tx, scope, key)
		if err != nil {
			return fmt.Errorf("%s of %s: %w", action, key, err)
		}
		acted, err := s.actOn(ctx, tx, []*Schedule{row}, acting{action, by, false})
		switch {
		case err != nil:
			return err
		case acted[0].Refused == keepsChanging:
			return fmt.Errorf("%s of %s: %s: %w", action, key, keepsChanging, storage.ErrBusy)
		case acted[0].Refused != "":
			return fmt.Errorf("%w: %s of %s: %s", ErrActionRefused, action, key, acted[0].Refused)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("automation: %w", err)
	}
	return nil
}
