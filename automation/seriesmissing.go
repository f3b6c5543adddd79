package automation

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/belfry-go/belfry/storage"
)

// missingSeries lists active series whose current occurrence has come and has no
// row that could run: nothing of them would ever happen again. There are none
// unless a process of a version without series settled such a row, somebody
// wrote to the tables, the cadence cannot be read, or an occurrence was made in shadow
// while its part moved on. To ensure the candidate
// again repairs it. It looks at the longest waiting ones, at most so many times
// limit as missingSpan says.
func missingSeries(ctx context.Context, tx storage.Tx, now time.Time, limit int) ([]*series, error) {
	var out []*series
	var after *storage.Position
	for range missingSpan {
		page, err := seriesTable.Find(ctx, tx, storage.AnyScope, storage.Query{
			Where: []storage.Cond{storage.Eq("active", true), storage.AtMost("next_on", now)}, OrderBy: "next_on", Limit: limit, After: after,
		})
		if err != nil || len(page) == 0 {
			return out, err
		}
		rows, err := occurrencesOf(ctx, tx, page)
		if err != nil {
			return nil, err
		}
		stuck, err := stuckAmong(ctx, tx, page, rows)
		if err != nil {
			return nil, err
		}
		out = append(out, stuck[:min(len(stuck), limit-len(out))]...)
		last := page[len(page)-1]
		if len(page) < limit || len(out) == limit {
			return out, nil
		}
		after = &storage.Position{Value: last.NextOn, ID: last.ID}
	}
	return out, nil
}

// stuckAmong are the series without a row that could run. Those in shadow wait for
// a move, unless their part is past the old scheduler.
func stuckAmong(ctx context.Context, tx storage.Tx, page []*series, rows map[int64]*Schedule) (out []*series, err error) {
	awake, err := passedOver(ctx, tx, slices.Collect(maps.Values(rows)))
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
