package notify

import "context"

// PauseCampaign keeps a campaign from making more messages until it is resumed,
// also one whose schedule is not due yet. It works between two chunks; messages
// that exist already are sent. guid is the messaging job's. Like the other
// actions on campaigns it writes who did it and why into the audit, in the same
// transaction; the error wraps [ErrActionRefused] where the campaign's state has
// nothing to pause, and storage.ErrNotFound where scope has no such campaign.
func (n *Notifier) PauseCampaign(ctx context.Context, scope Scope, guid string, by By) error {
	return act(ctx, n, messagingJobs, scope, guid, "PauseCampaign", by, (*MessagingJob).pause)
}

// ResumeCampaign lets a paused campaign go on where it was; nobody gets a second
// message by that. One that was paused before its schedule was due waits for it.
func (n *Notifier) ResumeCampaign(ctx context.Context, scope Scope, guid string, by By) error {
	return act(ctx, n, messagingJobs, scope, guid, "ResumeCampaign", by, (*MessagingJob).resume)
}

// CancelCampaign ends a campaign for good: no more messages are made from now on,
// and those that have not been sent are cancelled by the poller, a thousand in a
// transaction. What a provider has already been given stays, and so do in-app
// messages. A campaign all of whose messages are made can be cancelled as long as
// they wait to be sent.
func (n *Notifier) CancelCampaign(ctx context.Context, scope Scope, guid string, by By) error {
	return act(ctx, n, messagingJobs, scope, guid, "CancelCampaign", by, (*MessagingJob).cancel)
}
