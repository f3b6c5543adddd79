package survey

import (
	"context"
	"fmt"
	"time"

	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/survey/form"
)

// By says who takes a support action and why: Actor, a person or program that can be
// found again, in at most 200 bytes, and Reason, in at most 1000. Both are required.
type By = audit.By

// ActionOptions change how a support action works: DryRun has it answer the same and
// write nothing. Nil is the zero value.
type ActionOptions = audit.Options

// ErrActionRefused says that a support action makes no sense for a row as it is
// now; the text says why. Nothing was written.
var ErrActionRefused = audit.ErrActionRefused

// Hold keeps an instance from being sent and from expiring until it is released;
// the customer may still answer. A call that is under way at this moment cannot be
// taken back.
//
// Like the other actions it writes who did it and why into the audit, in the same
// transaction, and returns storage.ErrNotFound where scope has no such instance,
// and [ErrActionRefused] where the action makes no sense.
func (s Support) Hold(ctx context.Context, scope Scope, publicID string, by By) error {
	return s.act(ctx, scope, publicID, "Hold", by, holdBySupport)
}

// Release ends a hold. What came due meanwhile goes out at once, or expires if its
// grace is over. A send that was held in doubt is taken for made; Retry sends it
// once more.
func (s Support) Release(ctx context.Context, scope Scope, publicID string, by By) error {
	return s.actWith(ctx, scope, publicID, "Release", by, releaseBySupport)
}

// Retry makes the send at once that failed, was stopped, or waits for its moment,
// with its tries counted from zero, and ends a hold. A schedule that was stopped
// goes on from there. For a link that was sent as often as planned there is
// Rerun.
func (s Support) Retry(ctx context.Context, scope Scope, publicID string, by By) error {
	return s.act(ctx, scope, publicID, "Retry", by, retryBySupport)
}

// Rerun sends the link once more, beside what is planned: reminders that are
// still to come are counted from this send.
func (s Support) Rerun(ctx context.Context, scope Scope, publicID string, by By) error {
	return s.act(ctx, scope, publicID, "Rerun", by, rerunBySupport)
}

// Cancel ends the sends for good. The link stays open until it expires, the grace
// after its last send.
func (s Support) Cancel(ctx context.Context, scope Scope, publicID string, by By) error {
	return s.act(ctx, scope, publicID, "Cancel", by, cancelBySupport)
}

func holdBySupport(i *instanceRow, now time.Time) string {
	switch {
	case !i.isOpen():
		return "it is " + i.state()
	case i.IsOnSupportHold && i.ReasonCode == ReasonHeldBySupport:
		return "it is on hold already"
	}
	i.hold(ReasonHeldBySupport)
	i.lookAgain(now)
	return ""
}

func releaseBySupport(i *instanceRow, now time.Time, reminders []form.Duration) string {
	if !i.IsOnSupportHold {
		return "it is not on hold"
	}
	i.IsOnSupportHold, i.ReasonCode = false, ""
	if i.InDoubt && i.isOpen() {
		i.sent(i.CallStartedOn, reminders)
	}
	i.lookAgain(now)
	return ""
}

func retryBySupport(i *instanceRow, now time.Time) string {
	switch {
	case !i.isOpen():
		return "it is " + i.state()
	case i.Channel == form.NoChannel:
		return handed
	case i.callUnderWay(now):
		return callUnderWay
	case i.NextSendOn.IsZero() && i.ReasonCode == "":
		return "it was sent as often as planned, so that another send is an extra one"
	}
	i.makeDue(now)
	return ""
}

func rerunBySupport(i *instanceRow, now time.Time) string {
	switch {
	case !i.isOpen():
		return "it is " + i.state()
	case i.Channel == form.NoChannel:
		return handed
	case i.callUnderWay(now):
		return callUnderWay
	case i.LastSentOn.IsZero():
		return "it has not been sent yet"
	}
	if !i.NextSendOn.IsZero() && i.NextSendOn.After(now) {
		i.RemindersRemaining++ // the one that was scheduled comes after this one
	}
	i.makeDue(now)
	return ""
}

func cancelBySupport(i *instanceRow, now time.Time) string {
	switch {
	case !i.isOpen():
		return "it is " + i.state()
	case i.NextSendOn.IsZero() && !i.IsOnSupportHold:
		return "nothing more is to be sent"
	}
	i.IsOnSupportHold = false
	started, doubt := i.CallStartedOn, i.InDoubt
	i.stop(now, ReasonStoppedBySupport)
	if !doubt {
		i.CallStartedOn = started // its worker brings what comes of it, or the loss of its lease is found
	}
	i.lookAgain(now)
	return ""
}

const handed = "its host delivers it: Link has its address"

const callUnderWay = "it is being sent at this moment"

// callUnderWay reports whether a worker that is alive has called the channel.
func (i *instanceRow) callUnderWay(now time.Time) bool {
	return !i.CallStartedOn.IsZero() && !i.InDoubt && i.LeaseExpiresOn.After(now)
}

// makeDue has the present send made at once, whatever held it up.
func (i *instanceRow) makeDue(now time.Time) {
	i.settleCall()
	i.IsOnSupportHold, i.Tries, i.ReasonCode = false, 0, ""
	i.NextSendOn, i.StoppedOn = now, time.Time{}
	i.lookAgain(now)
}

func (i *instanceRow) state() string { return stateOf(i.Status, i.DeletedOn) }

// stateOf is what an instance that has ended is.
func stateOf(status string, deletedOn time.Time) string {
	if !deletedOn.IsZero() {
		return "deleted"
	}
	return status
}

func (s Support) act(ctx context.Context, scope Scope, publicID, action string, by By, change func(*instanceRow, time.Time) string) error {
	return s.actWith(ctx, scope, publicID, action, by, func(i *instanceRow, now time.Time, _ []form.Duration) string { return change(i, now) })
}

// actWith changes one instance and writes the audit beside it.
func (s Support) actWith(ctx context.Context, scope Scope, publicID, action string, by By, change func(*instanceRow, time.Time, []form.Duration) string) error {
	if err := by.Check(); err != nil {
		return fmt.Errorf("survey: %s: %w", action, err)
	}
	err := s.inTx(ctx, func(tx storage.Tx) error {
		row, err := readInstance(ctx, tx, scope, publicID)
		if err != nil {
			return err
		}
		v, err := s.versionOf(ctx, tx, row.Scope, row.SurveyID, row.SurveyVersion)
		if err != nil {
			return fmt.Errorf("its version: %w", err)
		}
		err = audit.Change(ctx, tx, instances, scope, row.Key, action, by, func(i *instanceRow, now time.Time) string {
			row, i.Of = i, v
			refused := change(i, now, remindersOf(v, i.TriggerID))
			clearDeadLease(i, now)
			return refused
		})
		if err != nil {
			return err
		}
		return noteAsked(ctx, tx, row)
	})
	if err != nil {
		return fmt.Errorf("survey: %s of %.40q: %w", action, publicID, err)
	}
	return nil
}

// clearDeadLease keeps the next claim from counting a loss that support has dealt
// with. One that leaves a call without an end is still to be found.
func clearDeadLease(i *instanceRow, now time.Time) {
	if !i.LeaseExpiresOn.IsZero() && !i.LeaseExpiresOn.After(now) && i.CallStartedOn.IsZero() {
		i.LeaseExpiresOn = time.Time{}
	}
}

func remindersOf(v *version, triggerID string) []form.Duration {
	if t := v.Trigger(triggerID); t != nil {
		return t.Schedule.Reminders
	}
	return nil
}
