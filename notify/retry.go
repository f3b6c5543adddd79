package notify

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// Failures says which messages support means. Keys or Channel is required; whatever
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
	q := driver.Query{Limit: f.Limit, Desc: true}
	if q.Limit == 0 {
		q.Limit = maxPage
	}
	switch {
	case len(f.Keys) == 0 && f.Channel == "":
		return q, errors.New("neither Keys nor Channel is set")
	case len(f.Keys) > maxPage:
		return q, fmt.Errorf("%d Keys, more than %d", len(f.Keys), maxPage)
	case q.Limit < 0 || q.Limit > maxPage:
		return q, fmt.Errorf("the Limit %d is not between 1 and %d", f.Limit, maxPage)
	}
	if len(f.Keys) == 0 {
		q.OrderBy = "failed_on"
	}
	after, err := driver.ParsePosition(f.After)
	if err != nil || after != nil && (after.Value == nil) != (q.OrderBy == "") {
		return q, fmt.Errorf("the After %.40q is not the Next of a report", f.After)
	}
	q.After, q.Where = after, f.conds()
	return q, nil
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
func (n Support) Retry(ctx context.Context, scope Scope, key string, by By) (Retried, error) {
	report, err := n.RetryFailed(ctx, scope, Failures{Keys: []string{key}}, by, nil)
	switch {
	case err != nil:
		return Retried{}, err
	case len(report.Messages) == 0:
		return Retried{}, fmt.Errorf("notify: Retry of %s: %w", key, storage.ErrNotFound)
	case report.Refused > 0:
		return Retried{}, fmt.Errorf("notify: %w: Retry of %s: %s", ErrActionRefused, key, report.Messages[0].Refusal)
	}
	return report.Messages[0], nil
}

// RetryReport is what RetryFailed did to a page of messages, or would do.
type RetryReport struct {
	DryRun bool
	// Messages has every message that was found, the last to fail first, those that were
	// refused too.
	Messages         []Retried
	Retried, Refused int
	// Next continues behind this page, as [Failures].After; empty: there is no more.
	Next string
}

// Retried is what became of one failed message.
type Retried struct {
	Scope      Scope
	Key        string // of the failed message
	MessageID  string // of the failed message
	ReasonCode string // that it failed for
	// Attempt is the Key of the next attempt, and AttemptNo its number.
	Attempt   string
	AttemptNo int
	Refusal   string // why nothing is sent; empty: it is
}

// RetryFailed does what Retry does to each of the messages that f finds in scope, or
// everywhere if f says so, one
// page of them in one transaction and few statements. One that is refused does not
// stop the others; its answer says why. A dry run answers the same and writes nothing.
// An error means that nothing of the call was written. It is safe to repeat: what
// has its next attempt is refused the second time.
func (n Support) RetryFailed(ctx context.Context, scope Scope, f Failures, by By, opts *ActionOptions) (RetryReport, error) {
	q, err := f.query()
	if err == nil {
		err = by.Check()
	}
	if err == nil && f.Everywhere && scope != "" {
		err = errors.New("a scope, and Everywhere")
	}
	if err != nil {
		return RetryReport{}, fmt.Errorf("notify: RetryFailed: %w", err)
	}
	report := RetryReport{DryRun: audit.IsDry(opts)}
	err = n.inTx(ctx, nil, func(tx storage.Tx) (err error) {
		report.Messages, report.Next, err = n.retryPage(ctx, tx, scope, q, retrying{by, report.DryRun, len(f.Keys) > 0, f.Everywhere})
		return err
	})
	if err != nil {
		return RetryReport{}, fmt.Errorf("notify: RetryFailed: %w", err)
	}
	for _, m := range report.Messages {
		if m.Refusal != "" {
			report.Refused++
		}
	}
	report.Retried = len(report.Messages) - report.Refused
	return report, nil
}

// retrying is what holds for all messages of a call.
type retrying struct {
	by         By
	dryRun     bool
	named      bool // by their keys
	everywhere bool
}

const (
	triedAgain   = "it has its next attempt already"
	changedSince = "it has just changed"
)

// retryPage makes the next attempts of one page of failed messages.
func (n Support) retryPage(ctx context.Context, tx storage.Tx, scope Scope, q driver.Query, r retrying) (out []Retried, after string, err error) {
	rows, err := messagesFound(ctx, tx, scope, r.everywhere, q)
	if err != nil || len(rows) == 0 {
		return nil, "", err
	}
	if len(rows) == q.Limit {
		after = placeOf(rows[len(rows)-1], q)
	}
	next, out, err := n.nextAttempts(rows, r.named)
	if err != nil {
		return nil, "", err
	}
	if err := refuseRetries(ctx, tx, rows, next, out); err != nil || r.dryRun {
		return out, after, err
	}
	return out, after, n.makeAttempts(ctx, tx, rows, next, out, r.by)
}

// placeOf is where the page behind m begins.
func placeOf(m *messageRow, q driver.Query) string {
	at := driver.Position{ID: m.ID}
	if q.OrderBy != "" {
		at.Value = m.FailedOn
	}
	return at.String()
}

// nextAttempts are what would be sent, with an answer for each.
func (n Support) nextAttempts(rows []*messageRow, named bool) ([]*messageRow, []Retried, error) {
	now := driver.Now(n.store)
	next, out := make([]*messageRow, len(rows)), make([]Retried, len(rows))
	for i, m := range rows {
		again := *m
		again.AttemptNo++
		again.RowKey, again.MessageID, again.CreatedOn = "", "", now
		if err := n.begin(&again, StatusCreated); err != nil {
			return nil, nil, err
		}
		again.NextRetryOn = now // it waited, so it is revalidated
		if named {
			again.ValidUntil = time.Time{} // a person wants it sent
		}
		next[i] = &again
		out[i] = Retried{Scope: m.Scope, Key: m.Key, MessageID: m.MessageID, ReasonCode: m.ReasonCode, Attempt: again.Key, AttemptNo: again.AttemptNo}
	}
	return next, out, nil
}

// refuseRetries says which messages are not to be sent again.
func refuseRetries(ctx context.Context, tx storage.Tx, rows, next []*messageRow, out []Retried) error {
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
		campaign := of[m.job()]
		switch {
		case m.IsTombstone():
			out[i].Refusal = "it was forgotten"
		case m.Status != StatusFailedFinal:
			out[i].Refusal = "it is " + m.Status + ", and has not failed for good"
		case next[i].stale(next[i].CreatedOn):
			out[i].Refusal = "it was valid until " + next[i].ValidUntil.Format(time.RFC3339)
		case exist[attempts[i]] != nil:
			out[i].Refusal = triedAgain
		case m.JobPartitionKey == "" && campaign != nil && campaign.Status == StatusCancelled:
			out[i].Refusal = "its campaign was cancelled"
		}
	}
	return nil
}

// makeAttempts stores what was not refused. Each failed message is written too, so
// that a callback which comes between is not overlooked.
func (n Support) makeAttempts(ctx context.Context, tx storage.Tx, rows, next []*messageRow, out []Retried, by By) error {
	var chosen []int
	var save []*messageRow
	for i := range rows {
		if out[i].Refusal == "" {
			chosen, save = append(chosen, i), append(save, rows[i])
		}
	}
	err := outgoingMessages.Save(ctx, tx, save...)
	var stale *storage.StaleError
	switch {
	case errors.As(err, &stale):
		for _, i := range stale.Rows {
			out[chosen[i]].Refusal = changedSince
		}
	case err != nil:
		return err
	}
	var wanted []*messageRow
	var entries []*audit.Entry
	for _, i := range chosen {
		if out[i].Refusal != "" {
			continue
		}
		wanted = append(wanted, next[i])
		entries = append(entries, audited(rows[i], "Retry", by, rows[i].Status, driver.Now(n.store)))
	}
	if len(wanted) == 0 {
		return nil
	}
	if _, _, err := outgoingKind.ensureIn(ctx, tx, wanted); err != nil {
		return err
	}
	return audit.Write(ctx, tx, entries...)
}
