package survey

import (
	"context"
	"fmt"
	"time"

	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/internal/owned"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
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
	return s.act(ctx, scope, publicID, by, supporting{action: "Hold", change: holdBySupport, keepsDoubt: true})
}

// Release ends a hold. What came due meanwhile goes out at once, or expires if its
// grace is over. A send that was held in doubt is taken for made; Retry sends it
// once more.
func (s Support) Release(ctx context.Context, scope Scope, publicID string, by By) error {
	return s.act(ctx, scope, publicID, by, supporting{action: "Release", change: releaseBySupport, takesForSent: true})
}

// Retry makes the send at once that failed, was stopped, or waits for its moment,
// with its tries counted from zero, and ends a hold. A schedule that was stopped
// goes on from there. For a link that was sent as often as planned there is
// Rerun.
func (s Support) Retry(ctx context.Context, scope Scope, publicID string, by By) error {
	return s.act(ctx, scope, publicID, by, supporting{action: "Retry", change: retryBySupport})
}

// Rerun sends the link once more, beside what is planned: reminders that are
// still to come are counted from this send.
func (s Support) Rerun(ctx context.Context, scope Scope, publicID string, by By) error {
	return s.act(ctx, scope, publicID, by, supporting{action: "Rerun", change: rerunBySupport})
}

// Cancel ends the sends for good. The link stays open until it expires, the grace
// after its last send.
func (s Support) Cancel(ctx context.Context, scope Scope, publicID string, by By) error {
	return s.act(ctx, scope, publicID, by, supporting{action: "Cancel", change: cancelBySupport})
}

// supporting is what support does to a link: change says why it is refused, or changes the
// link, whose message is called at this moment or is ended before.
type supporting struct {
	action string
	change func(i *instanceRow, now time.Time, called bool) (refused string)
	// keepsDoubt leaves a message in doubt as it is, and takesForSent counts it as sent.
	keepsDoubt, takesForSent bool
}

func holdBySupport(i *instanceRow, _ time.Time, _ bool) string {
	switch {
	case !i.isOpen():
		return "it is " + i.state()
	case i.heldBySupport():
		return "it is on hold already"
	}
	i.hold(reasons.HeldBySupport)
	return ""
}

func releaseBySupport(i *instanceRow, _ time.Time, _ bool) string {
	if !i.IsOnSupportHold {
		return "it is not on hold"
	}
	i.IsOnSupportHold, i.ReasonCode = false, ""
	return ""
}

func retryBySupport(i *instanceRow, now time.Time, called bool) string {
	switch {
	case !i.isOpen():
		return "it is " + i.state()
	case i.Channel == form.NoChannel:
		return handed
	case called:
		return callUnderWay
	case i.NextSendOn.IsZero() && i.ReasonCode == "":
		return "it was sent as often as planned, so that another send is an extra one"
	}
	i.makeDue(now)
	return ""
}

func rerunBySupport(i *instanceRow, now time.Time, called bool) string {
	switch {
	case !i.isOpen():
		return "it is " + i.state()
	case i.Channel == form.NoChannel:
		return handed
	case called:
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

func cancelBySupport(i *instanceRow, now time.Time, called bool) string {
	switch {
	case !i.isOpen():
		return "it is " + i.state()
	case i.NextSendOn.IsZero() && !i.IsOnSupportHold:
		return "nothing more is to be sent"
	}
	i.stop(now, reasons.SendsStopped)
	i.Queued = called // what becomes of it is still brought into the link
	return ""
}

const handed = "its host delivers it: Link has its address"

const callUnderWay = "it is being sent at this moment"

// makeDue has the present send made at once, whatever held it up.
func (i *instanceRow) makeDue(now time.Time) {
	i.settleCall()
	i.IsOnSupportHold, i.Tries, i.ReasonCode = false, 0, ""
	i.NextSendOn, i.StoppedOn = now, time.Time{}
}

func (i *instanceRow) state() string { return stateOf(i.Status, i.DeletedOn) }

// stateOf is what an instance that has ended is.
func stateOf(status string, deletedOn time.Time) string {
	if !deletedOn.IsZero() {
		return "deleted"
	}
	return status
}

// act changes one instance and writes the audit beside it.
func (s Support) act(ctx context.Context, scope Scope, publicID string, by By, do supporting) error {
	err := by.Check()
	if err == nil {
		err = s.inTx(ctx, func(tx storage.Tx) error {
			return driver.RetryStale("the link", func() error { return s.actOnce(ctx, tx, scope, publicID, by, do) })
		})
	}
	if err != nil {
		return fmt.Errorf("survey: %s of %.40q: %w", do.action, publicID, err)
	}
	return nil
}

func (s Support) actOnce(ctx context.Context, tx storage.Tx, scope Scope, publicID string, by By, do supporting) error {
	read, err := readInstance(ctx, tx, scope, publicID)
	if err != nil {
		return err
	}
	v, err := s.versionOf(ctx, tx, read.Scope, read.SurveyID, read.SurveyVersion)
	if err != nil {
		return fmt.Errorf("its version: %w", err)
	}
	found, err := s.out.Find(ctx, tx, read.messageAt())
	if err != nil {
		return err
	}
	m, there := found[read.messageAt()]
	called := read.Queued && there && m.Called(driver.Now(s.store))
	if probe := *read; do.change(&probe, driver.Now(s.store), called) == "" { // else it is refused below
		if m, err = s.settleMessage(ctx, tx, read, m, called, do); err != nil {
			return err
		}
	}
	row, raced := read, false
	err = audit.Change(ctx, tx, instances, scope, read.Key, do.action, by, func(i *instanceRow, now time.Time) string {
		if raced = i.Version != read.Version; raced {
			return "it has just changed"
		}
		row = i
		it := s.sendingOf(work.Item[instanceRow]{Row: i}, v)
		if refused := do.change(i, now, called); refused != "" {
			return refused
		}
		switch {
		case called || !i.Queued || do.keepsDoubt && m.InDoubt:
		case do.takesForSent && m.Sent:
			it.take(now, m)
		default:
			i.settleCall()
		}
		if !i.LeaseExpiresOn.After(now) {
			i.LeaseExpiresOn = time.Time{} // a worker that is gone: its loss counts no more
		}
		i.plan(it.grace)
		if it.trigger == nil {
			i.lookAgain(now)
		}
		return ""
	})
	if raced {
		return storage.ErrStale
	}
	if err != nil {
		return err
	}
	return writeLog(ctx, tx, []*instanceRow{row})
}

// settleMessage ends the message of a link before the link is written, or counts it as sent.
func (s Support) settleMessage(ctx context.Context, tx storage.Tx, r *instanceRow, m owned.Message, called bool, do supporting) (owned.Message, error) {
	switch {
	case !r.Queued || called || do.keepsDoubt && m.InDoubt:
		return m, nil
	case do.takesForSent && m.InDoubt:
		return s.out.TakeForSent(ctx, tx, r.messageAt())
	}
	ended, err := s.out.End(ctx, tx, driver.Now(s.store), reasons.LinkOver, r.messageAt())
	m = ended[r.messageAt()]
	if err == nil && m.Called(driver.Now(s.store)) { // it began in between
		err = storage.ErrStale
	}
	return m, err
}
