package notify

import (
	"context"
	"errors"
	"time"

	"github.com/belfry-go/belfry/storage"
)

// Notify makes sure of a job and of its schedule, in one transaction: that of a bound
// copy (see WithTx), else one of its own. on is when the job is looked at; zero means
// at once. It is what a handler calls; a job without a schedule is never looked at.
//
// The answer is the job's. As with the Ensure methods a repeat changes nothing, the
// first moment included, and a *[ConflictError] says that the job or its schedule
// stands for something else; a job that does is not scheduled.
func (n *Notifier) Notify(ctx context.Context, job Job, on time.Time) (Ensured, error) {
	var out Ensured
	var conflict error
	err := n.inTx(ctx, nil, func(tx storage.Tx) (err error) {
		out, conflict, err = n.notifyIn(ctx, tx, job, on)
		return err
	})
	if err != nil {
		return Ensured{}, err
	}
	return out, conflict
}

// notifyIn keeps conflicts apart from errors, since they are recorded in tx.
func (n *Notifier) notifyIn(ctx context.Context, tx storage.Tx, job Job, on time.Time) (out Ensured, conflict, err error) {
	made, err := n.EnsureNotificationJob(ctx, tx, job)
	if len(made) == 1 {
		out = made[0]
	}
	if err == nil {
		_, err = n.EnsureNotificationScheduler(ctx, tx, ScheduleFor(job, on))
	}
	var c *ConflictError
	if errors.As(err, &c) {
		return out, err, nil
	}
	return out, nil, err
}
