package sweep

import (
	"context"
	"time"

	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/internal/once"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

const (
	// blobsFor is how long blobs stay at least that no row owns, as package driver has it.
	blobsFor = 24 * time.Hour
	// blobsPage is how many of them go in one step: each takes transactions of its own.
	blobsPage = 100
)

// sharedRules say how what all domains share goes with its age: the audit, as old as the
// host says and whatever it tells of, and then what tells of people and no entry needs;
// the answers to requests that are old enough not to be repeated; and blobs that no row
// owns.
func sharedRules() []Rule {
	old := func(before time.Time) []driver.Cond { return []driver.Cond{driver.AtMost("done_on", before)} }
	return []Rule{
		Retention[audit.Entry]{
			Table: audit.Table, By: "Audit", Old: old,
			Created: func(e *audit.Entry) time.Time { return e.On },
		}.Rule(),
		Retention[audit.Personal]{
			Table: audit.People, By: "Audit", Old: old,
			Created: func(p *audit.Personal) time.Time { return p.On },
			Judge: func(ctx context.Context, from driver.Reader, _ At, rows []*audit.Personal) ([]Verdict, error) {
				out := make([]Verdict, len(rows))
				orphans, err := audit.Orphans(ctx, from, rows)
				for i, gone := range orphans {
					if gone {
						out[i] = Delete
					}
				}
				return out, err
			},
		}.Rule(),
		Retention[once.Row]{
			Table: once.Table, Silent: true,
			Created: func(r *once.Row) time.Time { return r.On },
			After:   func(time.Duration) time.Duration { return once.KeptFor },
			Old:     func(before time.Time) []driver.Cond { return []driver.Cond{driver.AtMost("answered_on", before)} },
		}.Rule(),
		{Table: "blob", plan: collect, every: time.Hour, silent: true, after: func(time.Duration) time.Duration { return blobsFor }},
	}
}

// collect removes blobs that no row owns. Which those are is for the store to say, which
// remembers by itself how far it came with each.
func collect(ctx context.Context, store storage.Store, _ At, _ int, _ int64) (planned, error) {
	n, err := store.Blobs().Collect(ctx, blobsPage)
	return planned{again: n == blobsPage}, err
}
