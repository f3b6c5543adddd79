package automation

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/belfry-go/belfry/health"
	"github.com/belfry-go/belfry/internal/backlog"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// Health tells how reminders and runs of reports are doing: in one scope
// (storage.Within), or everywhere (storage.Everywhere). It is for dashboards and
// alerts: however many rows there are, it looks at no more than ten thousand of each
// lane that are due for longest, and as many holds of each reason, over all scopes. It
// writes nothing, and takes no lock.
func (s *Scheduler) Health(ctx context.Context, reach storage.ScopeFilter) (health.Summary, error) {
	out, err := backlog.Take(ctx, s.read, reach, backlog.Of(s.dueTables()...), s.explainer().lostSeries, skippedSources, backlog.Pauses(pauses))
	if err != nil {
		return health.Summary{}, fmt.Errorf("automation: Health: %w", err)
	}
	out.LeaseLosses = s.registry.leaseLosses.Load()
	return out, nil
}

// dueTables are those with rows that become due, but for the walk of the retention.
func (s *core) dueTables() []backlog.Table {
	held := make([]string, len(holdReasons))
	for i, r := range holdReasons {
		held[i] = string(r)
	}
	kept, _ := s.registry.kept()
	return []backlog.Table{
		{
			Schema: &schedules.Schema, Reasons: held,
			Serves: func(row driver.Row) bool { return s.registry.serves(driver.RecordOf(row).Kind) },
		},
		{
			Schema: &reconciliations.Schema,
			Serves: func(row driver.Row) bool { return slices.Contains(kept, driver.RecordOf(row).Kind) },
		},
	}
}

// lostLimit is how many series without a next row Health names.
const lostLimit = 100

// lostSeries names series without a next row.
func (explainer) lostSeries(ctx context.Context, c *backlog.Stats) error {
	found, err := missingSeries(ctx, c.From, c.On(), lostLimit)
	if err != nil {
		return err
	}
	out := c.Summary()
	for _, d := range found {
		key, err := d.key(d.NextOn)
		if err != nil {
			return err
		}
		if c.Covers(d.Scope) {
			out.Lost = append(out.Lost, health.Lost{Scope: d.Scope, Key: key, Kind: d.Kind, Since: d.NextOn})
		}
	}
	return nil
}

// missingSeries lists active series whose current occurrence has come and has no
// row that could run: nothing of them would ever happen again. There are none
// unless a process of a version without series settled such a row, somebody
// wrote to the tables, the cadence cannot be read, or an occurrence was made in shadow
// while its part moved on. To ensure the candidate
// again repairs it. It looks at the longest waiting ones, at most so many times
// limit as missingSpan says.
func missingSeries(ctx context.Context, from driver.Reader, now time.Time, limit int) ([]*series, error) {
	var out []*series
	var after *driver.Position
	for range missingSpan {
		page, err := seriesTable.Everywhere().Find(ctx, from, driver.Query{
			Where: []driver.Cond{driver.Eq("active", true), driver.AtMost("next_on", now)}, OrderBy: "next_on", Limit: limit, After: after,
		})
		if err != nil || len(page) == 0 {
			return out, err
		}
		rows, err := occurrencesOf(ctx, from, page)
		if err != nil {
			return nil, err
		}
		stuck, err := stuckAmong(ctx, from, page, rows)
		if err != nil {
			return nil, err
		}
		out = append(out, stuck[:min(len(stuck), limit-len(out))]...)
		last := page[len(page)-1]
		if len(page) < limit || len(out) == limit {
			return out, nil
		}
		after = &driver.Position{Value: last.NextOn, ID: last.ID}
	}
	return out, nil
}

// stuckAmong are the series without a row that could run. Those in shadow wait for
// a move, unless their part is past the old scheduler.
func stuckAmong(ctx context.Context, from driver.Reader, page []*series, rows map[int64]*scheduleRow) (out []*series, err error) {
	awake, err := passedOver(ctx, from, slices.Collect(maps.Values(rows)))
	for _, d := range page {
		switch row := rows[d.ID]; {
		case row == nil:
			out = append(out, d)
		case row.inShadow():
			if slices.ContainsFunc(awake, func(g gone) bool { return g.scope == d.Scope && g.series == d.Key }) {
				out = append(out, d)
			}
		case !runs(row):
			out = append(out, d)
		}
	}
	return out, err
}

// missingSpan is how many pages of late series missingSeries looks at.
const missingSpan = 3

// Coming counts the rows of a scope that fall due behind a moment and not after another,
// by type and moment: at most 10,000 of each lane and all scopes, the first of them; more
// says that it did not come to their end.
func (s Support) Coming(ctx context.Context, scope Scope, after, until time.Time) (out []health.Due, more bool, err error) {
	err = s.read(ctx, func(from driver.Reader) (err error) {
		out, more, err = backlog.Coming(ctx, from, scope, &schedules.Schema, after, until)
		return err
	})
	if err != nil {
		return nil, false, fmt.Errorf("automation: Coming: %w", err)
	}
	return out, more, nil
}

// Reason is a code that says why a row is in its state or on hold: one of package reasons, or
// a host's own. Codes are stored and never change.
type Reason = string

// holdReasons are those of support holds. A hold has no other reason.
var holdReasons = []Reason{
	reasons.InputConflict, reasons.DeliveryConflict, reasons.OwnershipConflict, reasons.RetriesExhausted,
	reasons.PermanentFailure, reasons.Undecodable, reasons.Unserved, reasons.HeldBySupport, reasons.CancelledBySupport,
}
