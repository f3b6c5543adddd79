package notify

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/internal/outbox"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/reasons"
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
	DecideSent      Decision = "Sent"      // it arrived, as far as can be told
	DecideSendAgain Decision = "SendAgain" // it did not, or a second one is better than none
)

// Resolve settles a message in doubt by a person's decision, whether it is on
// hold already or not. key is the Key of the stored row. Like Release it writes
// who did it and why into the audit, in the same transaction, and returns
// storage.ErrNotFound where scope has no such key.
func (n Support) Resolve(ctx context.Context, scope Scope, key string, d Decision, by By) error {
	return n.onMessage(ctx, scope, key, "Resolve"+string(d), by, func(m *messageRow, now time.Time) string {
		return m.decided(d, now)
	})
}

// decided is a person's word about a message in doubt.
func (m *messageRow) decided(d Decision, now time.Time) (refused string) {
	if m.Status != StatusOutcomeUnknown {
		return "it is " + m.Status + ", not in doubt"
	}
	switch d {
	case DecideSent:
		m.accepted(m.calledOn(now), channel.Receipt{})
	case DecideSendAgain:
		m.IdempotentUntil, m.ValidUntil = time.Time{}, time.Time{} // a person accepts a second message, and a late one
		m.RetryCount = 0
		m.retryOn(now)
		m.SupportHold = driver.SupportHold{}
	default:
		return fmt.Sprintf("%q is not a decision", string(d))
	}
	m.resolved(now, ResolvedBySupport)
	return ""
}

// Release ends the hold of a schedule, a notification job, a messaging job or an
// outgoing message, named by the Key of the stored row: what failed is tried
// again at once, with its tries counted from zero; a campaign goes on with the
// chunk that failed. A message that is held in doubt is refused; see Resolve. One that
// has failed for good is not on hold; see Retry.
func (n Support) Release(ctx context.Context, scope Scope, a Artifact, key string, by By) error {
	switch a {
	case ArtifactNotificationScheduler:
		return act(ctx, n.core, schedules, scope, key, "Release", by, (*scheduleRow).releaseHold)
	case ArtifactNotificationJob:
		return act(ctx, n.core, jobs, scope, key, "Release", by, (*jobRow).releaseHold)
	case ArtifactMessagingJob:
		return act(ctx, n.core, messagingJobs, scope, key, "Release", by, (*messagingJobRow).releaseHold)
	case ArtifactOutgoingMessage:
		return n.onMessage(ctx, scope, key, "Release", by, (*messageRow).releaseHold)
	}
	return fmt.Errorf("%w: %s is never on hold", ErrActionRefused, a)
}

func (m *messageRow) releaseHold(now time.Time) string {
	refused := m.endHold(now)
	if refused == "" {
		m.ValidUntil = time.Time{} // a person wants it sent
	}
	return refused
}

func (m *messageRow) endHold(now time.Time) string {
	switch {
	case !m.IsOnSupportHold:
		return notHeld
	case m.Status == StatusOutcomeUnknown:
		return "it is in doubt, which needs a decision"
	}
	restart(&m.Tries)
	m.SupportHold = driver.SupportHold{}
	if m.Status == StatusCreated || m.Status == StatusRetryReady {
		m.DueOn, m.NextRetryOn = now, now // it waited, so it is revalidated
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

// onMessage is act on a message, of which its owner hears.
func (n Support) onMessage(ctx context.Context, scope Scope, key, action string, by By, change func(m *messageRow, now time.Time) (refused string)) error {
	return n.inTx(ctx, nil, func(tx storage.Tx) error {
		var row *messageRow
		err := audit.Change(ctx, tx, outgoingMessages, scope, key, action, by, func(m *messageRow, now time.Time) string {
			row = m
			return change(m, now)
		})
		if err != nil {
			return err
		}
		return n.tellOwners(ctx, tx, []*messageRow{row})
	})
}

// Held lists the outgoing messages of a scope that wait for a person, for one
// of the Hold… reasons, or of all with an empty one, those that were made first first;
// those in doubt are held for reasons.OutcomeUnknown. See Resolve and Release.
func (n Support) Held(ctx context.Context, scope Scope, reason string, p storage.Page) ([]OutgoingMessage, string, error) {
	return listHeld(ctx, n.core, outgoingMessages, scope, reason, p, (*messageRow).view)
}

// HeldSchedules lists schedules as Held does messages.
func (n Support) HeldSchedules(ctx context.Context, scope Scope, reason string, p storage.Page) ([]Schedule, string, error) {
	return listHeld(ctx, n.core, schedules, scope, reason, p, (*scheduleRow).view)
}

// HeldJobs lists notification jobs as Held does messages.
func (n Support) HeldJobs(ctx context.Context, scope Scope, reason string, p storage.Page) ([]Job, string, error) {
	return listHeld(ctx, n.core, jobs, scope, reason, p, (*jobRow).view)
}

// HeldCampaigns lists messaging jobs as Held does messages.
func (n Support) HeldCampaigns(ctx context.Context, scope Scope, reason string, p storage.Page) ([]MessagingJob, string, error) {
	return listHeld(ctx, n.core, messagingJobs, scope, reason, p, (*messagingJobRow).view)
}

// listHeld lists rows on hold in the order of their ids, which the index by reason has.
func listHeld[P, R any](ctx context.Context, n *core, t *driver.Table[R], scope Scope, reason string, p storage.Page, view func(*R) P) (out []P, next string, err error) {
	err = n.read(ctx, nil, func(from driver.Reader) (err error) {
		out, next, err = listFrom(ctx, from, t, scope, p, driver.Query{Where: held(reason), OrderBy: "id"}, view)
		return err
	})
	return out, next, err
}

// held repeats the predicate of the indexes of what is on hold.
func held(reason string) []driver.Cond {
	on := []driver.Cond{driver.Eq("is_on_support_hold", true)}
	if reason == "" {
		return on
	}
	return append(on, driver.Eq("hold_reason", reason))
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
// are made (cancel those) or whose digest is begun with, and for a message whose call has begun or is in doubt.
func (n Support) Cancel(ctx context.Context, scope Scope, a Artifact, key string, by By) error {
	switch a {
	case ArtifactNotificationScheduler:
		return act(ctx, n.core, schedules, scope, key, "Cancel", by, (*scheduleRow).cancel)
	case ArtifactNotificationJob:
		return n.cancelJob(ctx, scope, key, by)
	case ArtifactOutgoingMessage:
		return n.onMessage(ctx, scope, key, "Cancel", by, (*messageRow).cancel)
	}
	return fmt.Errorf("%w: %s cannot be cancelled here", ErrActionRefused, a)
}

// cancel is possible between a claim and its call-started write, which is fenced
// by the version.
func (m *messageRow) cancel(now time.Time) string {
	switch {
	case !outgoingStates.Legal(m.Status, StatusCancelled) || m.Status == StatusCancelled || m.Status == StatusOutcomeUnknown:
		return "it is " + m.Status
	case m.Status == StatusSending && !m.CallStartedOn.IsZero():
		return "its provider is being called"
	}
	m.cancelled(now, reasons.Cancelled)
	dropLease(&m.Due)
	return ""
}

// DeadLetter is a change that a [StatusSubscriber] was not able to take.
type DeadLetter = outbox.DeadLetter

// DeadLetters lists what was given up for a status subscriber, the oldest first, and
// says where the next page begins; empty after the last.
func (n Support) DeadLetters(ctx context.Context, scope Scope, subscriber string, p storage.Page) (out []DeadLetter, next string, err error) {
	err = n.read(ctx, nil, func(from driver.Reader) (err error) {
		out, next, err = outbox.DeadLetters(ctx, from, scope, subscriber, p)
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

// Unsubscribe ends what a status subscriber gets that is gone for good: no change is kept
// for it any more, of any tenant, and what waits for it, or was given up, is deleted, at
// most a thousand deliveries in a call, which it counts. Take the subscriber out of every
// process first, or it is subscribed again. The audit says who asked for it. A dry run only
// counts.
func (n Support) Unsubscribe(ctx context.Context, subscriber string, by By, opts *ActionOptions) (deleted int, err error) {
	err = n.inTx(ctx, nil, func(tx storage.Tx) (err error) {
		deleted, err = outbox.Unsubscribe(ctx, tx, subscriber, by, opts)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("notify: unsubscribe: %w", err)
	}
	return deleted, nil
}

// maxPage bounds what one call of a listing gives.
const maxPage = 1000

// Messages lists the outgoing messages of a notification job by its row key, or
// of a messaging job by its GUID, in the order of their keys, and says where the
// next page begins; empty after the last.
func (n Support) Messages(ctx context.Context, scope Scope, jobRowKey string, p storage.Page) ([]OutgoingMessage, string, error) {
	within, err := under(jobRowKey)
	if err != nil {
		return nil, "", err
	}
	return list(ctx, n.core, outgoingMessages, scope, p, within, (*messageRow).view)
}

// MessagesOfJobs reads the first messages of each of some jobs, by their row keys: at most
// limit of each, which is 1 to 1000. Those of a hundred jobs are one statement.
func (n Support) MessagesOfJobs(ctx context.Context, scope Scope, jobRowKeys []string, limit int) (out map[string][]OutgoingMessage, err error) {
	err = n.read(ctx, nil, func(from driver.Reader) error {
		found, err := outgoingMessages.FindChildren(ctx, from, scope, jobRowKeys, driver.Query{Limit: min(max(limit, 1), maxPage)})
		out = make(map[string][]OutgoingMessage, len(found))
		for key, rows := range found {
			for _, m := range rows {
				out[key] = append(out[key], m.view())
			}
		}
		return err
	})
	return out, err
}

// MessagesByID lists the outgoing messages of a scope that are known by an id: a
// MessageID, or what a provider's receipt said, the newest first and at most a hundred.
func (n Support) MessagesByID(ctx context.Context, scope Scope, id string) (out []OutgoingMessage, err error) {
	if id == "" {
		return nil, errors.New("notify: MessagesByID: no id")
	}
	err = n.read(ctx, nil, func(from driver.Reader) error {
		out = nil
		for _, column := range []string{"message_id", "provider_message_id"} {
			rows, err := outgoingMessages.Find(ctx, from, scope, driver.Query{Where: []driver.Cond{driver.Eq(column, id)}, Desc: true, Limit: driver.DefaultPage})
			if err != nil {
				return fmt.Errorf("notify: MessagesByID: %w", err)
			}
			for _, m := range rows {
				out = append(out, m.view())
			}
		}
		return nil
	})
	return out, err
}

// MessagesByKey reads outgoing messages of a scope by the keys of their rows, in their order;
// those that there are not are left out.
func (n Support) MessagesByKey(ctx context.Context, scope Scope, keys ...string) (out []OutgoingMessage, err error) {
	places := make([]driver.ScopedKey, len(keys))
	for i, key := range keys {
		places[i] = driver.ScopedKey{Scope: scope, Key: key}
	}
	err = n.read(ctx, nil, func(from driver.Reader) error {
		found, err := outgoingMessages.GetMany(ctx, from, places)
		out = nil
		for _, at := range places {
			if m := found[at]; m != nil {
				out = append(out, m.view())
			}
		}
		return err
	})
	return out, err
}

// AllMessages lists the outgoing messages of a scope in the order of their keys.
func (n Support) AllMessages(ctx context.Context, scope Scope, p storage.Page) ([]OutgoingMessage, string, error) {
	return list(ctx, n.core, outgoingMessages, scope, p, nil, (*messageRow).view)
}

// under is the range of the keys whose first parts are these: keys.Join puts
// U+001F between parts, and no part holds it.
func under(parts ...string) ([]driver.Cond, error) {
	prefix, err := keys.Join(parts...)
	if err != nil {
		return nil, err
	}
	return driver.ChildrenOf(prefix), nil
}

// list reads a page of rows in the order of their keys, and says where the next
// one begins.
func list[P, R any](ctx context.Context, n *core, t *driver.Table[R], scope Scope, p storage.Page, where []driver.Cond, view func(*R) P) (out []P, next string, err error) {
	err = n.read(ctx, nil, func(from driver.Reader) (err error) {
		out, next, err = listFrom(ctx, from, t, scope, p, driver.Query{Where: where}, view)
		return err
	})
	return out, next, err
}

func listFrom[P, R any](ctx context.Context, from driver.Reader, t *driver.Table[R], scope Scope, p storage.Page, q driver.Query, view func(*R) P) ([]P, string, error) {
	rows, next, err := t.Page(ctx, from, scope, p, q)
	out := make([]P, len(rows))
	for i, r := range rows {
		out[i] = view(r)
	}
	return out, next, err
}

// all reads the first maxPage rows, where no list has more.
func all[P, R any](ctx context.Context, n *core, t *driver.Table[R], scope Scope, where []driver.Cond, view func(*R) P) ([]P, error) {
	rows, _, err := list(ctx, n, t, scope, storage.Page{Limit: maxPage}, where, view)
	return rows, err
}

// JobResult is what a notification job has led to so far.
type JobResult struct {
	Messages    int    // outgoing ones, at most 1000
	Diagnostics string // that of the [Job]
}

// JobResult reads what a job has led to. With a transaction it reads there, with nil in the
// bound one if there is one.
func (n *Notifier) JobResult(ctx context.Context, tx storage.Tx, scope Scope, job Coordinates) (r JobResult, err error) {
	key, err := keys.Join(job.PartitionKey, job.RowKey)
	if err != nil {
		return r, err
	}
	within, err := under(job.RowKey)
	if err != nil {
		return r, err
	}
	err = n.read(ctx, tx, func(from driver.Reader) (err error) {
		if r.Messages, err = outgoingMessages.Count(ctx, from, scope, maxPage, within...); err != nil {
			return err
		}
		row, err := jobs.Get(ctx, from, scope, key)
		switch {
		case errors.Is(err, storage.ErrNotFound):
			return nil
		case err != nil:
			return err
		}
		r.Diagnostics = row.Diagnostics
		return nil
	})
	return r, err
}
