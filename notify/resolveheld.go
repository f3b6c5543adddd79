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

// Doubts says which messages in doubt support means: those on hold for [HoldInDoubt] that
// went out through one account during its outage. Channel, From and Until are required.
type Doubts struct {
	Channel string // that was called: "email:smtp"
	// OwnAccount means the account that the scope has of its own; else it is the one that
	// scopes share.
	OwnAccount bool
	// From and Until are the hours of the outage: a message counts whose last call began in
	// them.
	From, Until time.Time
	// Everywhere means every scope: that of the call is empty then.
	Everywhere bool
	// Limit is how many messages on hold one call looks at; zero means 1000, which is the
	// most.
	Limit int
	// After continues behind the page before; it is the Next of its report.
	After string
}

func (d Doubts) query() (driver.Query, error) {
	q := driver.Query{Limit: cmp.Or(d.Limit, maxPage), Where: held(HoldInDoubt)}
	after, err := driver.ParsePosition(d.After)
	switch {
	case d.Channel == "":
		return q, errors.New("no Channel is set")
	case d.From.IsZero() || !d.From.Before(d.Until):
		return q, errors.New("the hours from From to Until are missing or invalid")
	case d.OwnAccount && d.Everywhere:
		return q, errors.New("OwnAccount, and Everywhere: an account of its own is one scope's")
	case q.Limit < 1 || q.Limit > maxPage:
		return q, fmt.Errorf("the Limit %d is not between 1 and %d", d.Limit, maxPage)
	case err != nil || after != nil && after.Value != nil:
		return q, fmt.Errorf("the After %.40q is not the Next of a report", d.After)
	}
	q.After = after
	return q, nil
}

// covers reports whether a message went out through the account in those hours.
func (d Doubts) covers(m *messageRow) bool {
	return m.inUse() == d.Channel && m.OwnAccount == d.OwnAccount &&
		!m.CallStartedOn.Before(d.From) && m.CallStartedOn.Before(d.Until)
}

// ResolveReport is what ResolveHeld did to a page of messages in doubt, or would do.
type ResolveReport struct {
	DryRun bool
	// Messages has every message in doubt that was found, the oldest first, those that were
	// refused too.
	Messages          []Released
	Resolved, Refused int
	// Arrived and Absent say how the last thousand doubts of the channel ended of which the
	// provider told afterwards: it had the message, or it had not. Where most had arrived,
	// these have too, as far as anybody can tell.
	Arrived, Absent int
	// Next continues behind this page, as [Doubts].After; empty: there is no more.
	Next string
}

// ResolveHeld does what Resolve does to each of the messages in doubt that d finds in scope,
// or everywhere if d says so: those of one outage, one page of them in one transaction, by
// the index of holds. A dry run answers the same and writes nothing. An error means that
// nothing of the call was written. It is safe to repeat, and each decision is audited.
func (n Support) ResolveHeld(ctx context.Context, scope Scope, d Doubts, decision Decision, by By, opts *ActionOptions) (ResolveReport, error) {
	q, err := d.query()
	if err == nil {
		err = by.Check()
	}
	switch {
	case err != nil:
	case d.Everywhere && scope != "":
		err = errors.New("a scope, and Everywhere")
	case decision != DecideSent && decision != DecideSendAgain:
		err = fmt.Errorf("%q is not a decision", string(decision))
	}
	report := ResolveReport{DryRun: audit.IsDry(opts)}
	if err == nil {
		err = n.inTx(ctx, nil, func(tx storage.Tx) error { return n.resolvePage(ctx, tx, scope, d, q, decision, by, &report) })
	}
	if err != nil {
		return ResolveReport{}, fmt.Errorf("notify: ResolveHeld: %w", err)
	}
	for _, m := range report.Messages {
		if m.Refusal != "" {
			report.Refused++
		}
	}
	report.Resolved = len(report.Messages) - report.Refused
	return report, nil
}

// resolvePage decides about those of one page of holds that the outage left.
func (n Support) resolvePage(ctx context.Context, tx storage.Tx, scope Scope, d Doubts, q driver.Query, decision Decision, by By, report *ResolveReport) error {
	rows, err := messagesFound(ctx, tx, scope, d.Everywhere, q)
	if err != nil {
		return err
	}
	report.Next = ""
	if len(rows) == q.Limit {
		report.Next = placeOf(rows[len(rows)-1], q)
	}
	var covered []*messageRow
	for _, m := range rows {
		if d.covers(m) {
			covered = append(covered, m)
		}
	}
	decide := func(m *messageRow, now time.Time) string { return m.decidedAmongOthers(decision, now) }
	report.Messages, err = n.changePage(ctx, tx, covered, "Resolve"+string(decision), by, report.DryRun, decide)
	if err != nil {
		return err
	}
	report.Arrived, report.Absent, err = earlierDoubts(ctx, tx, scope, d)
	return err
}

// decidedAmongOthers is a person's word about a message that nobody has named: one that is
// stale is not sent.
func (m *messageRow) decidedAmongOthers(d Decision, now time.Time) (refused string) {
	if d == DecideSendAgain && m.stale(now) {
		return "it was valid until " + m.ValidUntil.Format(time.RFC3339)
	}
	until := m.ValidUntil
	refused = m.decided(d, now)
	m.ValidUntil = until
	return refused
}

// earlierDoubts counts how the last doubts of a channel ended, where its provider told.
func earlierDoubts(ctx context.Context, from driver.Reader, scope Scope, d Doubts) (arrived, absent int, err error) {
	rows, err := messagesFound(ctx, from, scope, d.Everywhere, driver.Query{
		Where:   []driver.Cond{driver.NotNull("resolved_on"), driver.Eq("kind", d.Channel), driver.Eq("is_on_support_hold", false)},
		OrderBy: "resolved_on", Desc: true, Limit: maxPage,
	})
	for _, m := range rows {
		switch m.Resolution {
		case ResolvedByLookup, ResolvedByCallback:
			arrived++
		case ResolvedAsAbsent:
			absent++
		}
	}
	return arrived, absent, err
}
