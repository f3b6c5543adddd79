package automation

import (
	"context"
	"maps"
	"slices"

	"github.com/belfry-go/belfry/storage"
)

// compareChunk is how many rows one statement of a comparison reads.
const compareChunk = 1000

// compare finds the differences of sources. It takes few statements for all of
// them and writes nothing.
func (p *scannedPage) compare(ctx context.Context, tx storage.Tx, among []*scannedSource) error {
	moved, err := p.measure(ctx, tx, among)
	if err != nil {
		return err
	}
	opened, err := p.openRows(ctx, tx, among)
	if err != nil {
		return err
	}
	rows := map[string]*Schedule{}
	bySource := map[string][]*Schedule{}
	for _, row := range opened {
		rows[row.Key] = row
		bySource[row.Source] = append(bySource[row.Source], row)
	}
	if err := p.otherRows(ctx, tx, among, rows); err != nil {
		return err
	}
	if err := p.shade(ctx, tx, among); err != nil {
		return err
	}
	for _, x := range among {
		asked := x.plan
		asked.plans = x.asked
		x.found = diff(p.now, x.event.Source, asked, rows, bySource[x.event.Source.ID])
		x.found.moved = moved[x]
	}
	return nil
}

// openRows are the open rows of the sources under the settings spoken for.
func (p *scannedPage) openRows(ctx context.Context, tx storage.Tx, among []*scannedSource) (out []*Schedule, err error) {
	settings := map[string]bool{}
	ids := make([]string, len(among))
	for i, x := range among {
		ids[i] = x.event.Source.ID
		for _, setting := range x.plan.spoken {
			settings[setting] = true
		}
	}
	where := []storage.Cond{
		storage.In("source", ids), storage.In("setting", slices.Sorted(maps.Keys(settings))),
		storage.Eq("source_type", p.t.Scan.SourceType),
	}
	q := storage.Query{OrderBy: "source", Limit: compareChunk, Where: append(slices.Clone(where), open())}
	for {
		rows, err := schedules.Find(ctx, tx, p.scope, q)
		if err != nil {
			return nil, err
		}
		out = append(out, rows...)
		if len(rows) < q.Limit {
			return out, p.s.eachShadow(ctx, tx, p.scope, where, func(rows []*Schedule) error {
				out = append(out, rows...)
				return nil
			})
		}
		last := rows[len(rows)-1]
		q.After = &storage.Position{Value: last.Source, ID: last.ID}
	}
}

// otherRows adds the rows under the wanted keys that are not open: most of them
// are completed.
func (p *scannedPage) otherRows(ctx context.Context, tx storage.Tx, among []*scannedSource, rows map[string]*Schedule) error {
	var missing []string
	for _, x := range among {
		for _, plan := range x.asked {
			if rows[plan.want.Key] == nil {
				missing = append(missing, plan.want.Key)
			}
		}
	}
	for keys := range slices.Chunk(missing, compareChunk) {
		found, err := schedules.Find(ctx, tx, p.scope, storage.Query{Where: []storage.Cond{storage.In("key", keys)}, Unordered: true, Limit: len(keys)})
		if err != nil {
			return err
		}
		for _, row := range found {
			rows[row.Key] = row
		}
	}
	return nil
}
