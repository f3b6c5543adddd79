package notify

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage"
)

type sending = work.Item[OutgoingMessage]

// revalidate asks whether messages that were deferred or retried are still
// wanted, settles those that are not, and returns the others. It comes before
// the call-started write, so that a crash here leaves nothing in doubt.
func (n *Notifier) revalidate(ctx context.Context, items []sending) ([]sending, error) {
	var open []sending
	waited, now := map[string][]sending{}, storage.Now(n.store)
	for _, it := range items {
		if name := it.Row.NotificationType; it.Row.waited(now) && n.registry.lookup(name).Revalidator != nil {
			waited[name] = append(waited[name], it)
		} else {
			open = append(open, it)
		}
	}
	if len(waited) == 0 {
		return open, nil
	}
	jobs, err := n.jobsOf(ctx, waited)
	if err != nil {
		return nil, err
	}
	for name, group := range waited {
		open = append(open, n.stillWanted(ctx, n.registry.lookup(name), group, jobs)...)
	}
	return open, nil
}

// lateAfter is how long after its time a message counts as one that has waited: it
// was paused, or its database in quarantine, or nobody was there to send it.
const lateAfter = 15 * time.Minute

// waited reports whether a claimed message was deferred or retried, or is late. A
// campaign's message is not late for waiting behind the others.
func (m *OutgoingMessage) waited(now time.Time) bool {
	return !m.NextRetryOn.IsZero() || m.JobPartitionKey != "" && now.Sub(m.DueOn) > lateAfter
}

// jobsOf loads the jobs of messages in one statement a scope.
func (n *Notifier) jobsOf(ctx context.Context, waited map[string][]sending) (found map[place]*Job, err error) {
	var places []place
	for _, group := range waited {
		for _, it := range group {
			places = append(places, it.Row.job())
		}
	}
	err = n.store.InTx(ctx, func(tx storage.Tx) (err error) {
		found, err = loadPlaces(ctx, tx, jobs, places)
		return err
	})
	if err != nil {
		return nil, err
	}
	return found, n.addCampaigns(ctx, waited, found)
}

// job is where the message's notification job is, or its messaging job.
func (m *OutgoingMessage) job() place {
	if m.JobPartitionKey == "" {
		return place{m.Scope, m.PartitionKey}
	}
	key, _ := keys.Join(m.JobPartitionKey, m.PartitionKey)
	return place{m.Scope, key}
}

// stillWanted asks the type's revalidator about a group and applies the
// answers. A message whose job is not there cannot be asked about.
func (n *Notifier) stillWanted(ctx context.Context, t Type, group []sending, found map[place]*Job) (open []sending) {
	var asked []Job
	var waiting []sending
	for _, it := range group {
		j := found[it.Row.job()]
		if j == nil {
			it.Row.unasked(storage.Now(n.store), ReasonRevalidation)
			continue
		}
		asked, waiting = append(asked, *j), append(waiting, it)
	}
	if len(asked) == 0 {
		return nil
	}
	verdicts, err := n.ask(ctx, t, asked)
	for i, it := range waiting {
		switch {
		case err == nil:
			if n.apply(it.Row, verdicts[i]) {
				open = append(open, it)
			}
		case it.Ctx.Err() != nil:
			it.Row.released(storage.Now(n.store))
		default:
			it.Row.unasked(storage.Now(n.store), ReasonRevalidation)
		}
	}
	return open
}

func (n *Notifier) ask(ctx context.Context, t Type, asked []Job) (verdicts []Verdict, err error) {
	err = work.Guard(func() (err error) {
		verdicts, err = t.Revalidator.Revalidate(ctx, asked)
		return err
	})
	n.logPanic("a revalidator panicked", err, slog.String("type", t.Name))
	if err == nil && len(verdicts) != len(asked) {
		err = fmt.Errorf("notify: the revalidator of %q gave %d verdicts for %d jobs", t.Name, len(verdicts), len(asked))
	}
	return verdicts, err
}

// apply settles a message that does not go out now, and reports whether it does.
func (n *Notifier) apply(m *OutgoingMessage, v Verdict) bool {
	switch v.Action {
	case ActionSkip:
		m.skip(storage.Now(n.store), v.Reason)
	case ActionDefer:
		m.deferTo(later(v.Until, storage.Now(n.store)), v.Reason)
	case ActionProceed:
		return true
	default: // fail closed
		m.unasked(storage.Now(n.store), ReasonRevalidation)
	}
	return false
}
