package automation

import (
	"context"
	"time"

	"github.com/belfry-go/belfry/storage"
)

// missingSeries lists active series whose current occurrence has come and has no
// row that could run: nothing of them would ever happen again. There are none
// unless a process of a version without series settled such a row, somebody
// wrote to the tables, or the cadence cannot be read. To ensure the candidate
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
		for _, d := range page {
			if row := rows[d.ID]; len(out) < limit && (row == nil || !runs(row) && !row.inShadow()) {
				out = append(out, d)
			}
		}
		last := page[len(page)-1]
		if len(page) < limit || len(out) == limit {
			return out, nil
		}
		after = &storage.Position{Value: last.NextOn, ID: last.ID}
	}
	return out, nil
}

// missingSpan is how many pages of late series missingSeries looks at.
const missingSpan = 3
