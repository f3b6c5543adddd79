package notify

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/internal/spelling"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// jobRecipients writes the recipients of jobs, which are fixed otherwise.
var jobRecipients = jobs.Rewriting("recipients")

// AddRecipients adds to a job the recipients that it does not have yet, and returns them.
// They get what the job says when it is due, or at once where its messages are made
// already; nothing is sent twice. It is audited and may be repeated. With a
// transaction it belongs to it; with nil to the bound one, if there is one.
//
// The error wraps [ErrActionRefused] for a job that was cancelled or forgotten, or skipped
// since its type is not wanted; it is storage.ErrNotFound where scope has no such job, and says
// which argument no message can be made for. Then nothing was written.
func (n *Notifier) AddRecipients(ctx context.Context, tx storage.Tx, scope Scope, job Coordinates, by By, more ...Recipient) (added []Recipient, err error) {
	key, err := keys.Join(job.PartitionKey, job.RowKey)
	if err == nil {
		err = by.Check()
	}
	if err != nil {
		return nil, fmt.Errorf("notify: AddRecipients: %w", err)
	}
	for i, r := range more {
		if err := r.check(); err != nil {
			return nil, fmt.Errorf("notify: AddRecipients, recipient %d: %w", i+1, err)
		}
	}
	err = driver.RetryStale("the job", func() error {
		return n.inTx(ctx, tx, func(tx storage.Tx) error {
			row, err := jobs.Get(ctx, tx, scope, key)
			if err != nil {
				return err
			}
			if row.IsTombstone() {
				return fmt.Errorf("%w: it was forgotten", ErrActionRefused)
			}
			if added = row.without(more); len(added) == 0 {
				return nil
			}
			if why := row.takeMore(driver.Now(n.store)); why != "" {
				return fmt.Errorf("%w: %s", ErrActionRefused, why)
			}
			row.Recipients, row.TracedOn = append(slices.Clip(row.Recipients), added...), time.Time{}
			return audit.Rewrite(ctx, tx, jobRecipients, "AddRecipients", by, row)
		})
	})
	if err != nil {
		return nil, fmt.Errorf("notify: AddRecipients: %w", err)
	}
	return added, nil
}

// takeMore lets the generator look at the job once more, and says why it may not.
func (j *jobRow) takeMore(now time.Time) (refused string) {
	if j.isDigest() {
		return "it is a digest"
	}
	switch j.Status {
	case StatusCancelled:
		return "it is " + j.Status
	case StatusSkipped:
		if j.ReasonCode != reasons.NoRecipients && j.ReasonCode != reasons.NoSubscribers {
			return "it is " + j.Status + " (" + j.ReasonCode + ")"
		}
	case StatusGenerating:
		dropLease(&j.Due)
	case StatusGenerated, StatusDigested:
	default: // it is not begun, or waits for a person
		return ""
	}
	j.become(StatusReady)
	j.DueOn, j.EndedOn, j.ReasonCode = now, time.Time{}, ""
	return ""
}

// identity tells recipients of a job apart, as the keys of messages do.
type identity struct{ ref, method, address, inbox string }

func (r Recipient) identity() identity {
	method := channel.Method(r.Channel)
	address, err := spelling.Of(method, r.Address)
	if err != nil {
		address = r.Address
	}
	return identity{r.Ref, method, spelling.Folded(method, address), r.Inbox}
}

// without are those of some that the job does not have, each once.
func (j *jobRow) without(some []Recipient) (out []Recipient) {
	known := map[identity]bool{}
	for _, r := range j.Recipients {
		known[r.identity()] = true
	}
	for _, r := range some {
		if id := r.identity(); !known[id] {
			known[id] = true
			out = append(out, r)
		}
	}
	return out
}

// joined is f with those who were added to the job since.
func (n generator) joined(f frozen, j *jobRow) frozen {
	known := map[identity]bool{}
	for _, d := range f.Deliveries {
		known[d.Recipient.identity()] = true
	}
	more := slices.DeleteFunc(slices.Clone(j.Recipients), func(r Recipient) bool { return known[r.identity()] })
	f.Deliveries = append(f.Deliveries, n.addressed(more).Deliveries...)
	return f
}
