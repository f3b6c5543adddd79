package automation

import (
	"context"
	"fmt"
)

// foreseen is how many sources a [Upkeep.Foresee] looks at before it stops.
const foreseen = 1000

// Foresee says what re-plans would change, and writes nothing: it is their dry run.
// Bound to a transaction it sees what that has changed, so that a host can save
// settings, look at the answer, and commit or not. It looks at a thousand sources, or a
// page more; More says that there are others. A Replan without a Type is that of the
// types registered here. Sources are asked about inside a bound transaction.
func (s Upkeep) Foresee(ctx context.Context, what ...Replan) (ReconcileReport, error) {
	total := ReconcileReport{DryRun: true, StartedOn: s.now()}
	for _, w := range what {
		if _, err := w.row(s.now()); err != nil {
			return total, fmt.Errorf("automation: Foresee: %w", err)
		}
		names := []string{w.Type}
		if w.Type == "" {
			names = s.registry.reminderTypes()
		}
		for _, name := range names {
			w.Type = name
			if err := s.foresee(within(ctx, s.tx), w, &total); err != nil {
				return total, fmt.Errorf("automation: Foresee: %w", err)
			}
		}
	}
	total.Duration = s.now().Sub(total.StartedOn)
	return total, nil
}

// foresee adds the dry run of one re-plan.
func (s Upkeep) foresee(ctx context.Context, what Replan, total *ReconcileReport) error {
	t, known := s.registry.reminder(what.Type)
	if !known {
		return fmt.Errorf("no reminder type %.40q is registered here", what.Type)
	}
	if total.More = total.More || total.Scanned >= foreseen; total.More {
		return nil
	}
	run := s.keeper().beginReplan(what, t)
	run.DryRun = true
	for at := new(replanCursor); at != nil; {
		if total.Scanned+run.Scanned >= foreseen {
			total.More = true
			break
		}
		var err error
		if at, err = s.keeper().replanPage(ctx, t, what, &run, *at, false); err != nil {
			return err
		}
	}
	total.Scope, total.Type = run.Scope, run.Type
	total.add(run)
	return nil
}

// add sums the counts of two reports.
func (r *ReconcileReport) add(o ReconcileReport) {
	r.Pages, r.Scanned, r.Unchanged, r.Stale = r.Pages+o.Pages, r.Scanned+o.Scanned, r.Unchanged+o.Unchanged, r.Stale+o.Stale
	r.Failed, r.Elsewhere, r.OffsetPassed = r.Failed+o.Failed, r.Elsewhere+o.Elsewhere, r.OffsetPassed+o.OffsetPassed
	r.Created, r.Updated, r.Reactivated = r.Created+o.Created, r.Updated+o.Updated, r.Reactivated+o.Reactivated
	r.Deactivated, r.Conflicts = r.Deactivated+o.Deactivated, r.Conflicts+o.Conflicts
	if o.Failure != "" {
		r.Failure = o.Failure
	}
	room := min(maxDifferences-len(r.Differences), len(o.Differences))
	r.Differences = append(r.Differences, o.Differences[:room]...)
}
