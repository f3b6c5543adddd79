package notify

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/storage"
)

const (
	cancelPage   = 1000 // messages that one transaction looks at
	cancelRounds = 8    // after which nobody waits for a provider any more
)

// cancelSpec is the pass over cancelled campaigns: it cancels the messages that
// wait to be sent, a page in each transaction. The status says Cancelled all the
// while, so a claim does not change it.
func (n *Notifier) cancelSpec() work.Spec[MessagingJob, nothing] {
	return work.Spec[MessagingJob, nothing]{
		Name: "notify.cancel", Table: messagingJobs,
		Claimable: []string{StatusCancelled},
		Handle: func(_ context.Context, items []work.Item[MessagingJob]) ([]nothing, error) {
			return make([]nothing, len(items)), nil // the transaction decides what waits
		},
		Dispatch: func(ctx context.Context, tx storage.Tx, done []work.Done[MessagingJob, nothing]) error {
			for _, d := range done {
				if err := n.cancelMessages(ctx, tx, d.Row, max(cancelPage/len(done), 10)); err != nil {
					return err
				}
			}
			return nil
		},
		Fail:    func(now time.Time, j *MessagingJob, _ error) { j.cancelLater(now) },
		Abandon: func(now time.Time, j *MessagingJob) { j.abandoned(now) },
		Release: func(now time.Time, j *MessagingJob) { j.released(now) },
	}
}

// cancelMessages cancels what waits in the next page of a campaign's messages.
func (n *Notifier) cancelMessages(ctx context.Context, tx storage.Tx, j *MessagingJob, size int) error {
	page, err := messageStates(ctx, tx, j, size)
	if err != nil {
		return err
	}
	var waiting []int64
	for _, m := range page {
		switch m.Status {
		case StatusCreated, StatusRetryReady:
			waiting = append(waiting, m.ID)
		case StatusSending, StatusOutcomeUnknown:
			if !m.IsOnSupportHold { // it may come back by itself
				j.InFlight++
			}
		}
	}
	lost, err := cancelAll(ctx, tx, j, waiting)
	if err != nil {
		return err
	}
	j.Cancelled += len(waiting) - lost
	j.InFlight += lost
	now := storage.Now(n.store)
	if len(page) == size {
		j.CancelledUpTo, j.DueOn = page[size-1].Key, now
	} else {
		j.roundEnds(now)
	}
	return messagingJobs.Save(ctx, tx, j)
}

// messageStates reads little of the messages behind the cursor, in the order of
// their keys.
func messageStates(ctx context.Context, tx storage.Tx, j *MessagingJob, size int) ([]*OutgoingMessage, error) {
	where, err := under(j.GUID)
	if err != nil {
		return nil, err
	}
	if j.CancelledUpTo != "" {
		where = append(where, storage.Greater("key", j.CancelledUpTo))
	}
	return outgoingMessages.Find(ctx, tx, j.Scope, storage.Query{
		Columns: []string{"status", "is_on_support_hold"}, Where: where, OrderBy: "key", Limit: size,
	})
}

// cancelAll cancels messages and says how many others have got hold of meanwhile.
func cancelAll(ctx context.Context, tx storage.Tx, j *MessagingJob, ids []int64) (lost int, err error) {
	if len(ids) == 0 {
		return 0, nil
	}
	rows, err := outgoingMessages.Find(ctx, tx, j.Scope, storage.Query{Where: []storage.Cond{storage.In("id", ids)}, Limit: len(ids)})
	if err != nil {
		return 0, err
	}
	found, now := len(rows), storage.Now(tx.Store())
	rows = slices.DeleteFunc(rows, func(m *OutgoingMessage) bool { return m.Status != StatusCreated && m.Status != StatusRetryReady })
	lost = found - len(rows)
	for _, m := range rows {
		m.cancelled(now, ReasonCampaignCancelled)
	}
	err = outgoingMessages.Save(ctx, tx, rows...)
	var stale *storage.StaleError
	if errors.As(err, &stale) {
		return lost + len(stale.Rows), nil
	}
	return lost, err
}

// roundEnds looks again later if a provider had some of the messages: what it
// refuses for now would be sent again.
func (j *MessagingJob) roundEnds(now time.Time) {
	j.CancelledUpTo, j.DueOn = "", time.Time{}
	if j.InFlight > 0 && j.Rounds < cancelRounds {
		j.DueOn = storage.Time(now.Add(time.Minute << j.Rounds))
		j.Rounds++
	}
	j.InFlight = 0
}

// cancelLater is a page that could not be stored.
func (j *MessagingJob) cancelLater(now time.Time) {
	j.DueOn = storage.Time(now.Add(time.Minute))
}
