package notify

import (
	"context"
	"fmt"
	"time"
)

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
func (n *Notifier) Cancel(ctx context.Context, scope Scope, a Artifact, key string, by By) error {
	switch a {
	case ArtifactNotificationScheduler:
		return act(ctx, n, schedules, scope, key, "Cancel", by, (*Schedule).cancel)
	case ArtifactNotificationJob:
		return act(ctx, n, jobs, scope, key, "Cancel", by, (*Job).cancel)
	case ArtifactOutgoingMessage:
		return act(ctx, n, outgoingMessages, scope, key, "Cancel", by, (*OutgoingMessage).cancel)
	}
	return fmt.Errorf("%w: %s cannot be cancelled here", ErrActionRefused, a)
}

func (s *Schedule) cancel(now time.Time) string {
	if !scheduleStates.Legal(s.Status, StatusCancelled) || s.Status == StatusCancelled {
		return "it is " + s.Status
	}
	s.become(StatusCancelled)
	s.DueOn, s.NextRetryOn, s.EndedOn = time.Time{}, time.Time{}, now
	s.ReasonCode, s.SupportHold = ReasonCancelled, SupportHold{}
	s.LeaseExpiresOn, s.Abandoned = time.Time{}, false
	return ""
}

func (j *Job) cancel(now time.Time) string {
	if !jobStates.Legal(j.Status, StatusCancelled) || j.Status == StatusCancelled {
		return "it is " + j.Status
	}
	j.end(now, StatusCancelled)
	j.ReasonCode, j.SupportHold = ReasonCancelled, SupportHold{}
	j.LeaseExpiresOn, j.Abandoned = time.Time{}, false
	return ""
}

// cancel is possible between a claim and its call-started write, which is fenced
// by the version.
func (m *OutgoingMessage) cancel(now time.Time) string {
	switch {
	case !outgoingStates.Legal(m.Status, StatusCancelled) || m.Status == StatusCancelled:
		return "it is " + m.Status
	case m.Status == StatusSending && !m.CallStartedOn.IsZero():
		return "its provider is being called"
	}
	m.cancelled(now, ReasonCancelled)
	m.LeaseExpiresOn, m.Abandoned = time.Time{}, false
	return ""
}
