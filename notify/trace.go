package notify

import (
	"context"

	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage"
)

// Trace is what exists of one notification job. Job is nil where there is none.
type Trace struct {
	Job              *Job
	Schedules        []Schedule // more than one only if several event types name the job
	UserMessages     []UserMessage
	OutgoingMessages []OutgoingMessage // the first 1000
}

// Trace tells what became of the job at those coordinates. A job that does not
// exist is no error.
func (n *Notifier) Trace(ctx context.Context, scope Scope, at Coordinates) (t Trace, err error) {
	key, err := keys.Join(at.PartitionKey, at.RowKey)
	if err != nil {
		return t, err
	}
	err = n.inTx(ctx, nil, func(tx storage.Tx) (err error) {
		if t.Job, err = n.job(ctx, tx, place{scope, key}); err != nil || t.Job == nil {
			return err
		}
		return n.WithTx(tx).follow(ctx, &t)
	})
	return t, err
}

// follow reads what the job of t led to, in the bound transaction.
func (n *Notifier) follow(ctx context.Context, t *Trace) error {
	j := t.Job
	guard, err := under(string(ArtifactNotificationJob), j.PartitionKey, j.RowKey)
	if err != nil {
		return err
	}
	if t.Schedules, err = list(ctx, n, schedules, j.Scope, Page{}, guard); err != nil {
		return err
	}
	if t.OutgoingMessages, err = n.Messages(ctx, j.Scope, j.RowKey, Page{}); err != nil {
		return err
	}
	t.UserMessages, err = j.userMessages(ctx, n.tx)
	return err
}

func (n *Notifier) job(ctx context.Context, tx storage.Tx, at place) (*Job, error) {
	if at.scope == storage.AnyScope {
		return nil, errAnyScope
	}
	found, err := loadPlaces(ctx, tx, jobs, []place{at})
	return found[at], err
}

// userMessages finds the job's messages by the inboxes of its recipients.
func (j *Job) userMessages(ctx context.Context, tx storage.Tx) ([]UserMessage, error) {
	row, err := keys.UserMessageRow(j.SourceOn, j.RowKey)
	if err != nil {
		return nil, err
	}
	var places []place
	for _, r := range j.Recipients {
		if key, err := keys.Join(r.Inbox, row); err == nil {
			places = append(places, place{j.Scope, key})
		}
	}
	found, err := loadPlaces(ctx, tx, userMessages, places)
	out := make([]UserMessage, 0, len(found))
	for _, at := range places {
		if m := found[at]; m != nil {
			out = append(out, *m)
			delete(found, at)
		}
	}
	return out, err
}
