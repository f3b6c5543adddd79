package notify

import (
	"context"

	"github.com/belfry-go/belfry/storage"
)

// Held lists the outgoing messages of a scope that wait for a person, for one
// of the Hold… reasons; those in doubt are held for HoldInDoubt. See Resolve and
// Release.
func (n *Notifier) Held(ctx context.Context, scope Scope, reason string, p Page) ([]OutgoingMessage, error) {
	return list(ctx, n, outgoingMessages, scope, p, held(reason))
}

// HeldSchedules lists schedules as Held does messages.
func (n *Notifier) HeldSchedules(ctx context.Context, scope Scope, reason string, p Page) ([]Schedule, error) {
	return list(ctx, n, schedules, scope, p, held(reason))
}

// HeldJobs lists notification jobs as Held does messages.
func (n *Notifier) HeldJobs(ctx context.Context, scope Scope, reason string, p Page) ([]Job, error) {
	return list(ctx, n, jobs, scope, p, held(reason))
}

// HeldCampaigns lists messaging jobs as Held does messages.
func (n *Notifier) HeldCampaigns(ctx context.Context, scope Scope, reason string, p Page) ([]MessagingJob, error) {
	return list(ctx, n, messagingJobs, scope, p, held(reason))
}

// held repeats the predicate of the indexes of what is on hold.
func held(reason string) []storage.Cond {
	return []storage.Cond{storage.Eq("is_on_support_hold", true), storage.Eq("hold_reason", reason)}
}
