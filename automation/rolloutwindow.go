package automation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/belfry-go/belfry/storage"
)

// maxCompared bounds the runs that one comparison or report looks at.
const maxCompared = 100_000

// Window is a time that [Scheduler.Compare] and [Scheduler.RolloutReport] look
// at: moments from From on and before Until. Until may be zero or lie ahead; it
// is now at most, since what is still to come proves nothing.
type Window struct{ From, Until time.Time }

// check completes the window.
func (w Window) check(now time.Time) (Window, error) {
	w.From, w.Until = storage.Time(w.From), storage.Time(w.Until)
	if w.Until.IsZero() || w.Until.After(now) {
		w.Until = now
	}
	if !w.From.Before(w.Until) {
		return w, errors.New("the Window is empty")
	}
	return w, nil
}

func (w Window) holds(on time.Time) bool { return !on.Before(w.From) && on.Before(w.Until) }

// eachRun visits the runs of a part whose moment is in the window, with their
// rows (nil: there is none), and tells whether there were more than it looks at.
func eachRun(ctx context.Context, tx storage.Tx, part RolloutPart, w Window, visit func(*ownership, *Schedule)) (capped bool, err error) {
	where := []storage.Cond{storage.Eq("type", part.Type), storage.AtLeast("run_on", w.From), storage.Less("run_on", w.Until)}
	seen := 0
	for after := (*storage.Position)(nil); ; {
		page, err := ownerships.Find(ctx, tx, part.Scope, storage.Query{Where: where, OrderBy: "run_on", Limit: compareChunk, After: after})
		if err != nil {
			return false, err
		}
		rows, err := rowsOfRuns(ctx, tx, part.Scope, page)
		if err != nil {
			return false, err
		}
		for _, o := range page {
			if o.SourceType == "" {
				o.read(o.Type) // the old scheduler's own SQL leaves it to the key
			}
			if part.covers(o) {
				visit(o, rows[o.Key])
			}
		}
		if seen += len(page); len(page) < compareChunk || seen >= maxCompared {
			return len(page) == compareChunk, nil
		}
		after = &storage.Position{Value: page[len(page)-1].RunOn, ID: page[len(page)-1].ID}
	}
}

// rowsOfRuns reads the rows of runs, by key.
func rowsOfRuns(ctx context.Context, tx storage.Tx, scope Scope, runs []*ownership) (map[string]*Schedule, error) {
	keys := make([]string, len(runs))
	for i, o := range runs {
		keys[i] = o.Key
	}
	out := map[string]*Schedule{}
	if len(keys) == 0 {
		return out, nil
	}
	found, err := schedules.Find(ctx, tx, scope, storage.Query{Where: []storage.Cond{storage.In("key", keys)}, Limit: len(keys)})
	for _, row := range found {
		out[row.Key] = row
	}
	if err != nil {
		return nil, fmt.Errorf("rows of runs: %w", err)
	}
	return out, nil
}
