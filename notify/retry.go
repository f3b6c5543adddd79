package notify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// Failures says which messages support means. Keys or Channel is required; what
// else is set narrows them down.
type Failures struct {
	// Keys are at most 1000, in any state. Those that have not failed are refused. Others
	// are sent however stale they are: without Keys what is stale is refused.
	Keys    []string
	Channel string // "email:sendgrid": its messages that have failed for good
	Reason  string // the ReasonCode of the failure, such as "401"
	// Since leaves out what failed before; zero: nothing.
	Since time.Time
	// Everywhere means every scope: that of the call is empty then.
	Everywhere bool
	// Limit is how many messages one call looks at; zero means 1000, which is the most.
	Limit int
	// After continues behind the page before; it is the Next of its report.
	After string
}

func (f Failures) query() (driver.Query, error) {
	orderBy := ""
	switch {
	case len(f.Keys) == 0 && f.Channel == "":
		return driver.Query{}, errors.New("neither Keys nor Channel is set")
	case len(f.Keys) > maxPage:
		return driver.Query{}, fmt.Errorf("%d Keys, more than %d", len(f.Keys), maxPage)
	case len(f.Keys) == 0:
		orderBy = "failed_on"
	}
	return pageOf(f.Limit, f.After, orderBy, true, f.conds()...)
}

func (f Failures) conds() (where []driver.Cond) {
	if len(f.Keys) > 0 {
		where = append(where, driver.In("key", f.Keys))
	} else {
		where = append(where, driver.NotNull("failed_on"))
	}
	if f.Channel != "" {
		where = append(where, driver.Eq("kind", f.Channel))
	}
	if f.Reason != "" {
		where = append(where, driver.Eq("reason_code", f.Reason))
	}
	if !f.Since.IsZero() {
		where = append(where, driver.AtLeast("failed_on", f.Since))
	}
	return where
}

// Retry sends a message again that has failed for good (FailedFinal), since what it
// failed of is mended: it makes another message of the same content to the same
// recipient, the next attempt with a row key ending in _{AttemptNo} (Communication -
// System architecture, "Key policy"), and leaves the failed one as it is. It is
// asked about like every other: the type's revalidator, the gates. key is the Key of
// the failed message's row.
//
// Like Release it is audited, and returns storage.ErrNotFound where scope has no such
// key. It is refused ([ErrActionRefused]) for a message that has not failed, that has
// its next attempt already, or whose campaign was cancelled.
func (n Support) Retry(ctx context.Context, scope Scope, key string, by By) (Acted, error) {
	report, err := n.RetryFailed(ctx, scope, Failures{Keys: []string{key}}, by, nil)
	if err != nil {
		return Acted{}, err
	}
	return report.only("Retry", key)
}

// only is the answer for the message of a key.
func (r BulkReport) only(verb, key string) (Acted, error) {
	switch {
	case len(r.Messages) == 0:
		return Acted{}, fmt.Errorf("notify: %s of %s: %w", verb, key, storage.ErrNotFound)
	case r.Refused > 0:
		return Acted{}, fmt.Errorf("notify: %w: %s of %s: %s", ErrActionRefused, verb, key, r.Messages[0].Refusal)
	}
	return r.Messages[0], nil
}

// RetryFailed does what Retry does to each of the messages that f finds in scope, or
// everywhere if f says so, the last to fail first, one
// page of them in one transaction and few statements. One that is refused does not
// stop the others; its answer says why. A dry run answers the same and writes nothing.
// An error means that nothing of the call was written. It is safe to repeat: what
// has its next attempt is refused the second time.
func (n Support) RetryFailed(ctx context.Context, scope Scope, f Failures, by By, opts *ActionOptions) (BulkReport, error) {
	q, err := f.query()
	b := bulk{n, "RetryFailed", scope, f.Everywhere, q, by, audit.IsDry(opts)}
	named := len(f.Keys) > 0
	return b.run(ctx, err, func(tx storage.Tx, rows []*messageRow) ([]Acted, error) {
		next, out, err := b.nextAttempts(rows, func(again *messageRow) {
			if named {
				again.ValidUntil = time.Time{} // a person wants it sent
			}
		})
		if err != nil {
			return nil, err
		}
		for i, m := range rows {
			if m.Status != StatusFailedFinal {
				out[i].refuse("it is " + m.Status + ", and has not failed for good")
			}
			out[i].refuse(next[i].tooLate(next[i].CreatedOn))
		}
		return out, b.sendAgain(ctx, tx, "Retry", rows, next, out)
	})
}

// refuse refuses what was not refused before.
func (a *Acted) refuse(why string) { a.Refusal = cmp.Or(a.Refusal, why) }

// nextAttempts are what would be sent, with an answer for each. What was forgotten is
// refused.
func (b bulk) nextAttempts(rows []*messageRow, change func(again *messageRow)) ([]*messageRow, []Acted, error) {
	now := driver.Now(b.store)
	next, out := make([]*messageRow, len(rows)), make([]Acted, len(rows))
	for i, m := range rows {
		again := *m
		again.AttemptNo++
		again.RowKey, again.MessageID, again.CreatedOn = "", "", now
		change(&again)
		if err := b.begin(&again, StatusCreated); err != nil {
			return nil, nil, err
		}
		again.NextRetryOn = now // it waited, so it is revalidated
		next[i] = &again
		out[i] = Acted{Scope: m.Scope, Key: m.Key, MessageID: m.MessageID, ReasonCode: m.ReasonCode, Attempt: again.Key, AttemptNo: again.AttemptNo}
		if m.IsTombstone() {
			out[i].refuse(forgotten)
		}
		if m.Owner != "" {
			out[i].refuse("it is sent again by what it belongs to: a " + m.Owner + " link")
		}
	}
	return next, out, nil
}

// sendAgain stores the next attempts of messages that are not refused. Each of these
// messages is written too, so that a callback which comes between is not overlooked.
func (b bulk) sendAgain(ctx context.Context, tx storage.Tx, action string, rows, next []*messageRow, out []Acted) error {
	if err := refuseAttempts(ctx, tx, rows, next, out); err != nil || b.dryRun {
		return err
	}
	before := make([]string, len(rows))
	for i, m := range rows {
		before[i] = m.Status
	}
	if err := b.save(ctx, tx, action, rows, before, out); err != nil {
		return err
	}
	var wanted []*messageRow
	for i, again := range next {
		if out[i].Refusal == "" {
			wanted = append(wanted, again)
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	_, _, err := outgoingKind.ensureIn(ctx, tx, wanted)
	return err
}

// refuseAttempts refuses messages that have a next attempt, or whose campaign was cancelled.
func refuseAttempts(ctx context.Context, tx storage.Tx, rows, next []*messageRow, out []Acted) error {
	var campaigns, attempts []driver.ScopedKey
	for i, m := range rows {
		attempts = append(attempts, driver.ScopedKey{Scope: m.Scope, Key: next[i].Key})
		if m.JobPartitionKey == "" {
			campaigns = append(campaigns, m.job())
		}
	}
	exist, err := outgoingMessages.GetMany(ctx, tx, attempts)
	if err != nil {
		return err
	}
	of, err := messagingJobs.GetMany(ctx, tx, campaigns)
	if err != nil {
		return err
	}
	for i, m := range rows {
		if exist[attempts[i]] != nil {
			out[i].refuse(triedAgain)
		}
		if c := of[m.job()]; m.JobPartitionKey == "" && c != nil && c.Status == StatusCancelled {
			out[i].refuse("its campaign was cancelled")
		}
	}
	return nil
}
