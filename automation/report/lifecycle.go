package report

import (
	"context"
	"errors"
	"time"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/storage"
)

// By says who changes a subscription or asks for a run, and why: Actor, a person or
// program that can be found again, in at most 200 bytes, and Reason, in at most 1000.
// Both are required.
type By = audit.By

// ErrRefused says that an action makes no sense for a subscription as it is now;
// the text says why. Nothing was written.
var ErrRefused = audit.ErrRefused

// Pause ends the runs that wait, [SubscriptionInactive], and keeps others from
// being made, until it is resumed. Runs that have completed stay, and a run that a
// worker builds at this moment is not delivered. Like Resume, Deactivate and Delete
// it is one transaction, writes who did it and why into the audit, and returns
// storage.ErrNotFound where scope has no such subscription.
func (s *Service) Pause(ctx context.Context, scope automation.Scope, guid string, by By) error {
	return s.turn(ctx, scope, guid, "Pause", StatusPaused, by)
}

// Resume makes the next run from now on. Those that were missed are not made up
// for.
func (s *Service) Resume(ctx context.Context, scope automation.Scope, guid string, by By) error {
	return s.turn(ctx, scope, guid, "Resume", StatusActive, by)
}

// Deactivate is Pause for good: the subscription can be read and deleted, and
// nothing else.
func (s *Service) Deactivate(ctx context.Context, scope automation.Scope, guid string, by By) error {
	return s.turn(ctx, scope, guid, "Deactivate", StatusDeactivated, by)
}

// turn changes the status of a subscription, and what follows from it.
func (s *Service) turn(ctx context.Context, scope automation.Scope, guid, action, to string, by By) error {
	if scope == storage.AnyScope {
		return errAnyScope
	}
	err := s.inTx(ctx, func(s *Service) error {
		var changed row
		err := audit.Change(ctx, s.tx, subscriptions, scope, guid, action, by, func(r *row, now time.Time) string {
			if r.Status == to || !machine.Legal(r.Status, to) {
				return "it is " + r.Status
			}
			r.Status, r.SavedOn = to, now
			changed = *r
			return ""
		})
		if err != nil {
			return err
		}
		if to == StatusActive {
			_, err = s.scheduler.Ensure(ctx, changed.subscription().candidate())
			return err
		}
		return s.endRuns(ctx, scope, guid, SubscriptionInactive)
	})
	return wrap(guid, err)
}

// Delete ends the runs that wait, automation.SourceNoLongerValid, and removes the
// subscription with its recipients. The rows of runs that have ended stay, so that
// one that is created with the same GUID repeats none of them.
func (s *Service) Delete(ctx context.Context, scope automation.Scope, guid string, by By) error {
	if scope == storage.AnyScope {
		return errAnyScope
	}
	err := s.inTx(ctx, func(s *Service) error {
		err := audit.Change(ctx, s.tx, subscriptions, scope, guid, "Delete", by, func(*row, time.Time) string { return "" })
		if err != nil {
			return err
		}
		if err := s.endRuns(ctx, scope, guid, automation.SourceNoLongerValid); err != nil {
			return err
		}
		stored, err := subscriptions.Get(ctx, s.tx, scope, guid)
		if err != nil {
			return err
		}
		return subscriptions.Delete(ctx, s.tx, stored)
	})
	return wrap(guid, err)
}

// endRuns ends what waits, runs that people asked for among them.
func (s *Service) endRuns(ctx context.Context, scope automation.Scope, guid string, why automation.Reason) error {
	_, err := s.scheduler.Deactivate(ctx, scope, automation.TypeReportSubscription, source(guid), why)
	return err
}

var errAnyScope = errors.New("report: a subscription belongs to the scope of one tenant")
