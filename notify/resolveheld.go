package notify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// Doubts says which messages in doubt support means: those on hold for [reasons.OutcomeUnknown] that
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
	switch {
	case d.Channel == "":
		return driver.Query{}, errors.New("no Channel is set")
	case d.From.IsZero() || !d.From.Before(d.Until):
		return driver.Query{}, errors.New("the hours from From to Until are missing or invalid")
	case d.OwnAccount && d.Everywhere:
		return driver.Query{}, errors.New("OwnAccount cannot be combined with Everywhere: an account of its own belongs to one scope")
	}
	return pageOf(d.Limit, d.After, "", false, held(reasons.OutcomeUnknown)...)
}

// covers reports whether a message went out through the account in those hours.
func (d Doubts) covers(m *messageRow) bool {
	return m.inUse() == d.Channel && m.OwnAccount == d.OwnAccount &&
		!m.CallStartedOn.Before(d.From) && m.CallStartedOn.Before(d.Until)
}

// ResolveReport is what ResolveHeld did to a page of messages in doubt, or would do.
type ResolveReport struct {
	BulkReport
	// Arrived and Absent say how the last thousand doubts of the channel ended, before this
	// call, of which the provider told afterwards: it had the message, or it had not. Where
	// most had arrived, these probably have, too.
	Arrived, Absent int
}

// ResolveHeld does what Resolve does to each of the messages in doubt that d finds in scope,
// or everywhere if d says so: those of one outage, one page of them in one transaction, by
// the index of holds. A dry run answers the same and writes nothing. An error means that
// nothing of the call was written. It is safe to repeat, and each decision is audited.
func (n Support) ResolveHeld(ctx context.Context, scope Scope, d Doubts, decision Decision, by By, opts *ActionOptions) (report ResolveReport, err error) {
	q, err := d.query()
	if err == nil && decision != DecideSent && decision != DecideSendAgain {
		err = fmt.Errorf("%q is not a decision", string(decision))
	}
	b := bulk{n, "ResolveHeld", scope, d.Everywhere, q, by, audit.IsDry(opts)}
	report.BulkReport, err = b.run(ctx, err, func(tx storage.Tx, rows []*messageRow) ([]Acted, error) {
		rows = slices.DeleteFunc(rows, func(m *messageRow) bool { return !d.covers(m) })
		if err := report.earlierDoubts(ctx, tx, b, d, rows); err != nil {
			return nil, err
		}
		decide := func(m *messageRow, now time.Time) string { return m.decidedAmongOthers(decision, now) }
		return b.change(ctx, tx, "Resolve"+string(decision), rows, decide)
	})
	return report, err
}

// decidedAmongOthers is a person's word about a message that was not named: one that is
// stale is not sent.
func (m *messageRow) decidedAmongOthers(d Decision, now time.Time) (refused string) {
	if refused = m.tooLate(now); d == DecideSendAgain && refused != "" {
		return refused
	}
	until := m.ValidUntil
	refused = m.decided(d, now)
	m.ValidUntil = until
	return refused
}

// toldBy are the resolutions by which the provider said what had become of a call.
var toldBy = []Resolution{ResolvedByLookup, ResolvedByCallback, ResolvedAsAbsent}

// earlierDoubts counts how the last doubts of a channel ended of which its provider told,
// among the messages of each key that those of the page ask for it by.
func (r *ResolveReport) earlierDoubts(ctx context.Context, from driver.Reader, b bulk, d Doubts, page []*messageRow) error {
	r.Arrived, r.Absent = 0, 0 // the transaction may run again
	kinds := []string{d.Channel}
	for _, m := range page {
		if !slices.Contains(kinds, m.Kind) {
			kinds = append(kinds, m.Kind)
		}
	}
	for _, kind := range kinds {
		rows, err := messagesFound(ctx, from, b.scope, b.everywhere, driver.Query{
			Columns: []string{"kind", "via", "resolution"},
			Where:   []driver.Cond{driver.NotNull("resolved_on"), driver.Eq("kind", kind), driver.In("resolution", toldBy), driver.In("via", []string{"", d.Channel})},
			OrderBy: "resolved_on", Desc: true, Limit: maxPage,
		})
		if err != nil {
			return err
		}
		for _, m := range rows {
			switch {
			case m.inUse() != d.Channel:
			case m.Resolution == ResolvedAsAbsent:
				r.Absent++
			default:
				r.Arrived++
			}
		}
	}
	return nil
}
