package notify

import (
	"context"
	"fmt"
	"time"

	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/storage"
)

// By says who takes a support action and why: Actor, a person or program that can be
// found again, in at most 200 bytes, and Reason, in at most 1000. Both are required.
type By = audit.By

// ErrActionRefused says that a support action makes no sense for a row as it is
// now; the text says why. Nothing was written.
var ErrActionRefused = audit.ErrRefused

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
func (n *Notifier) Resolve(ctx context.Context, scope Scope, key string, d Decision, by By) error {
	return act(ctx, n, outgoingMessages, scope, key, "Resolve"+string(d), by, func(m *OutgoingMessage, now time.Time) string {
		if m.Status != StatusOutcomeUnknown {
			return "it is " + m.Status + ", not in doubt"
		}
		switch d {
		case DecideSent:
			m.accepted(m.calledOn(now), Receipt{})
		case DecideSendAgain:
			m.IdempotentUntil = time.Time{} // a person accepts a second message
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
func (n *Notifier) Release(ctx context.Context, scope Scope, a Artifact, key string, by By) error {
	switch a {
	case ArtifactNotificationScheduler:
		return act(ctx, n, schedules, scope, key, "Release", by, (*Schedule).releaseHold)
	case ArtifactNotificationJob:
		return act(ctx, n, jobs, scope, key, "Release", by, (*Job).releaseHold)
	case ArtifactMessagingJob:
		return act(ctx, n, messagingJobs, scope, key, "Release", by, (*MessagingJob).releaseHold)
	case ArtifactOutgoingMessage:
		return act(ctx, n, outgoingMessages, scope, key, "Release", by, (*OutgoingMessage).releaseHold)
	}
	return fmt.Errorf("%w: %s is never on hold", ErrActionRefused, a)
}

const notHeld = "it is not on hold"

func (s *Schedule) releaseHold(now time.Time) string {
	if !s.IsOnSupportHold {
		return notHeld
	}
	if s.Status == StatusFailed {
		s.become(StatusReady)
		s.DueOn, s.EndedOn = now, time.Time{}
	}
	s.afresh()
	s.SupportHold = SupportHold{}
	return ""
}

func (j *Job) releaseHold(now time.Time) string {
	if !j.IsOnSupportHold {
		return notHeld
	}
	if j.Status == StatusFailed {
		j.become(StatusReady)
		j.DueOn, j.EndedOn = now, time.Time{}
	}
	j.afresh()
	j.SupportHold = SupportHold{}
	return ""
}

func (m *OutgoingMessage) releaseHold(now time.Time) string {
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
	}
	return ""
}

// afresh counts tries from zero.
func (t *Tries) afresh() { t.RetryCount, t.NextRetryOn = 0, time.Time{} }

// act is one audited change of one row.
func act[R any](ctx context.Context, n *Notifier, t *storage.Table[R], scope Scope, key, action string, by By,
	change func(row *R, now time.Time) (refused string)) error {
	return n.inTx(ctx, nil, func(tx storage.Tx) error {
		return audit.Change(ctx, tx, t, scope, key, action, by, change)
	})
}
