package notify

import (
	"context"
	"errors"
	"time"

	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// HeldMessages says which messages support means: those on hold for [reasons.RetriesExhausted], such
// as after an outage that outlasted their schedule. Channel is required.
type HeldMessages struct {
	Channel string // "email:sendgrid"
	Reason  string // the ReasonCode of the last try, such as "401"; empty: any
	// Everywhere means every scope: that of the call is empty then.
	Everywhere bool
	// Limit is how many messages one call looks at; zero means 1000, which is the most.
	Limit int
	// After continues behind the page before; it is the Next of its report.
	After string
}

func (h HeldMessages) query() (driver.Query, error) {
	if h.Channel == "" {
		return driver.Query{}, errors.New("no Channel is set")
	}
	where := append(held(reasons.RetriesExhausted), driver.Eq("kind", h.Channel))
	if h.Reason != "" {
		where = append(where, driver.Eq("reason_code", h.Reason))
	}
	return pageOf(h.Limit, h.After, "", false, where...)
}

// ReleaseHeld does what Release does to each of the messages that h finds in scope, or
// everywhere if h says so, one page of them in one transaction, by the index of holds.
// One that is stale is refused and stays on hold: a person may release it by its key.
// One that is refused does not stop the others. A dry run answers the same and writes
// nothing. An error means that nothing of the call was written. It is safe to repeat,
// and each release is audited.
func (n Support) ReleaseHeld(ctx context.Context, scope Scope, h HeldMessages, by By, opts *ActionOptions) (BulkReport, error) {
	q, err := h.query()
	b := bulk{n, "ReleaseHeld", scope, h.Everywhere, q, by, audit.IsDry(opts)}
	return b.run(ctx, err, func(tx storage.Tx, rows []*messageRow) ([]Acted, error) {
		return b.change(ctx, tx, "Release", rows, (*messageRow).releaseAmongOthers)
	})
}

// releaseAmongOthers ends the hold of a message that was not named: one that is stale
// stays.
func (m *messageRow) releaseAmongOthers(now time.Time) (refused string) {
	if refused := m.tooLate(now); refused != "" {
		return refused
	}
	return m.endHold(now)
}
