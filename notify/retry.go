package notify

import (
	"context"
	"fmt"

	"github.com/belfry-go/belfry/storage"
)

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
func (n *Notifier) Retry(ctx context.Context, scope Scope, key string, by By) (Retried, error) {
	report, err := n.RetryFailed(ctx, scope, Failures{Keys: []string{key}}, by, false)
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
	// Messages has every message that was found, the newest first, those that were
	// refused too.
	Messages         []Retried
	Retried, Refused int
	// Next continues behind this page, as [Failures].After; empty: there is no more.
	Next string
}

// Retried is what became of one failed message.
type Retried struct {
	Key        string // of the failed message
	MessageID  string // of the failed message
	ReasonCode string // that it failed for
	// Attempt is the Key of the next attempt, and AttemptNo its number.
	Attempt   string
	AttemptNo int
	Refusal   string // why nothing is sent; empty: it is
}

// RetryFailed does what Retry does to each of the messages that f finds in scope, one
// page of them in one transaction and few statements. One that is refused does not
// stop the others; its answer says why. A dry run answers the same and writes nothing.
// An error means that nothing of the call was written. It is safe to repeat: what
// has its next attempt is refused the second time.
func (n *Notifier) RetryFailed(ctx context.Context, scope Scope, f Failures, by By, dryRun bool) (RetryReport, error) {
	q, err := f.query()
	if err == nil && scope == storage.AnyScope {
		err = errAnyScope
	}
	if err == nil {
		err = by.Check()
	}
	if err != nil {
		return RetryReport{}, fmt.Errorf("notify: RetryFailed: %w", err)
	}
	report := RetryReport{DryRun: dryRun}
	err = n.inTx(ctx, nil, func(tx storage.Tx) (err error) {
		report.Messages, report.Next, err = n.retryPage(ctx, tx, scope, q, retrying{by, dryRun})
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
