package notify

import (
	"context"
	"fmt"
	"time"

	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/internal/outbox"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
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

// Decision is what a person decides about a message in doubt.
type Decision string

// The decisions about a message in doubt.
const (
	DecideSent      Decision = "Sent"      // it arrived, as far as anybody can tell
	DecideSendAgain Decision = "SendAgain" // it did not, or a second one is better than none
)

// Resolve settles a message in doubt by a person's decision, whether it is on
// hold already or not. key is the Key of the stored row. Like Release it writes
// who did it and why into the audit, in the same transaction, and returns
// storage.ErrNotFound where scope has no such key.
func (n Support) Resolve(ctx context.Context, scope Scope, key string, d Decision, by By) error {
	return act(ctx, n.core, outgoingMessages, scope, key, "Resolve"+string(d), by, func(m *messageRow, now time.Time) string {
		if m.Status != StatusOutcomeUnknown {
			return "it is " + m.Status + ", not in doubt"
		}
		switch d {
		case DecideSent:
			m.accepted(m.calledOn(now), Receipt{})
		case DecideSendAgain:
			m.IdempotentUntil, m.ValidUntil = time.Time{}, time.Time{} // a person accepts a second message, and a late one
			m.RetryCount = 0
			m.retryOn(now)
			m.unhold()
		default:
			return fmt.Sprintf("%q is no decision", string(d))
		}
		m.resolved(now, ResolvedBySupport)
		return ""
	})
}

// Release ends the hold of a schedule, a notification job, a messaging job or an
// outgoing message, named by the Key of the stored row: what failed is tried
// again at once, with its tries counted from zero; a campaign goes on with the
// chunk that failed. A message that is held in doubt is refused; see Resolve. One that
// has failed for good is not on hold; see Retry.
//
//spec:n-051
func (n Support) Release(ctx context.Context, scope Scope, a Artifact, key string, by By) error {
	switch a {
	case ArtifactNotificationScheduler:
		return act(ctx, n.core, schedules, scope, key, "Release", by, (*scheduleRow).releaseHold)
	case ArtifactNotificationJob:
		return act(ctx, n.core, jobs, scope, key, "Release", by, (*jobRow).releaseHold)
	case ArtifactMessagingJob:
		return act(ctx, n.core, messagingJobs, scope, key, "Release", by, (*messagingJobRow).releaseHold)
	case ArtifactOutgoingMessage:
		return act(ctx, n.core, outgoingMessages, scope, key, "Release", by, (*messageRow).releaseHold)
	}
	return fmt.Errorf("%w: %s is never on hold", ErrActionRefused, a)
}

func (m *messageRow) releaseHold(now time.Time) string {
	switch {
	case !m.IsOnSupportHold:
		return notHeld
	case m.Status == StatusOutcomeUnknown:
		return "it is in doubt, which needs a decision"
	}
	m.afresh()
	m.unhold()
	if m.Status == StatusCreated || m.Status == StatusRetryReady {
		m.DueOn, m.NextRetryOn = now, now // it waited, so it is revalidated
		m.ValidUntil = time.Time{}        // a person wants it sent
	}
	return ""
}

// act is one audited change of one row.
func act[R any](ctx context.Context, n *core, t *driver.Table[R], scope Scope, key, action string, by By,
	change func(row *R, now time.Time) (refused string)) error {
	return n.inTx(ctx, nil, func(tx storage.Tx) error {
		return audit.Change(ctx, tx, t, scope, key, action, by, change)
	})
}

// Held lists the outgoing messages of a scope that wait for a person, for one
// of the Hold… reasons; those in doubt are held for HoldInDoubt. See Resolve and
// Release.
func (n Support) Held(ctx context.Context, scope Scope, reason string, p storage.Page) ([]OutgoingMessage, string, error) {
	return list(ctx, n.core, outgoingMessages, scope, p, held(reason), (*messageRow).view)
}

// HeldSchedules lists schedules as Held does messages.
func (n Support) HeldSchedules(ctx context.Context, scope Scope, reason string, p storage.Page) ([]Schedule, string, error) {
	return list(ctx, n.core, schedules, scope, p, held(reason), (*scheduleRow).view)
}

// HeldJobs lists notification jobs as Held does messages.
func (n Support) HeldJobs(ctx context.Context, scope Scope, reason string, p storage.Page) ([]Job, string, error) {
	return list(ctx, n.core, jobs, scope, p, held(reason), (*jobRow).view)
}

// HeldCampaigns lists messaging jobs as Held does messages.
func (n Support) HeldCampaigns(ctx context.Context, scope Scope, reason string, p storage.Page) ([]MessagingJob, string, error) {
	return list(ctx, n.core, messagingJobs, scope, p, held(reason), (*messagingJobRow).view)
}

// held repeats the predicate of the indexes of what is on hold.
func held(reason string) []driver.Cond {
	return []driver.Cond{driver.Eq("is_on_support_hold", true), driver.Eq("hold_reason", reason)}
}

// Cancel ends for good what still waits: a schedule or a notification job of which
// no messages were made, or an outgoing message whose provider has not been called.
// It is named by the Key of the stored row. What a worker decides about it at this
// moment is dropped. An Ensure that is repeated finds it Cancelled, and revives
// nothing. A job's cancellation leaves its schedule, which comes to nothing; campaigns
// have CancelCampaign.
//
// Like Release it is audited, and returns storage.ErrNotFound where scope has no such
// key. It is refused ([ErrActionRefused]) for what has ended, for a job whose messages
// are made (cancel those), and for a message whose call has begun or is in doubt.
func (n Support) Cancel(ctx context.Context, scope Scope, a Artifact, key string, by By) error {
	switch a {
	case ArtifactNotificationScheduler:
		return act(ctx, n.core, schedules, scope, key, "Cancel", by, (*scheduleRow).cancel)
	case ArtifactNotificationJob:
		return act(ctx, n.core, jobs, scope, key, "Cancel", by, (*jobRow).cancel)
	case ArtifactOutgoingMessage:
		return act(ctx, n.core, outgoingMessages, scope, key, "Cancel", by, (*messageRow).cancel)
	}
	return fmt.Errorf("%w: %s cannot be cancelled here", ErrActionRefused, a)
}

// cancel is possible between a claim and its call-started write, which is fenced
// by the version.
func (m *messageRow) cancel(now time.Time) string {
	switch {
	case !outgoingStates.Legal(m.Status, StatusCancelled) || m.Status == StatusCancelled:
		return "it is " + m.Status
	case m.Status == StatusSending && !m.CallStartedOn.IsZero():
		return "its provider is being called"
	}
	m.cancelled(now, ReasonCancelled)
	dropLease(&m.Record)
	return ""
}

// DeadLetter is a change that a [StatusSubscriber] was not able to take.
type DeadLetter = outbox.DeadLetter

// DeadLetters lists what was given up for a status subscriber, the oldest first, and
// says where the next page begins; empty after the last.
func (n Support) DeadLetters(ctx context.Context, scope Scope, subscriber string, p storage.Page) (out []DeadLetter, next string, err error) {
	err = n.inTx(ctx, nil, func(tx storage.Tx) (err error) {
		out, next, err = outbox.DeadLetters(ctx, tx, scope, subscriber, p)
		return err
	})
	return out, next, err
}

// ReplayDeadLetters tells a subscriber again what was given up, at most a
// thousand of them, and says how many. They are due at once, with their attempts
// counted from zero, and the audit says who asked for it. A dry run only counts.
func (n Support) ReplayDeadLetters(ctx context.Context, scope Scope, subscriber string, by By, opts *ActionOptions) (int, error) {
	replayed := 0
	err := n.inTx(ctx, nil, func(tx storage.Tx) (err error) {
		replayed, err = outbox.ReplayDead(ctx, tx, scope, subscriber, by, opts)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("notify: replay: %w", err)
	}
	return replayed, nil
}
