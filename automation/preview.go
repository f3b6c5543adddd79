package automation

import (
	"context"
	"fmt"
	"slices"

	"github.com/belfry-go/belfry/keys"
)

// previewed is how many sources a [Maintenance.PreviewReplan] looks at before it stops.
const previewed = 1000

// PreviewReplan says what re-plans would change, and writes nothing: it is their dry run.
// Bound to a transaction it sees what that has changed, so that a host can save
// settings, look at the answer, and commit or not. It looks at a thousand sources, or a
// page more; More says that there are others. A Replan without a Type is that of the
// types registered here. Sources are asked about inside a bound transaction.
func (s Maintenance) PreviewReplan(ctx context.Context, what ...Replan) (ReconcileReport, error) {
	total := ReconcileReport{DryRun: true, StartedOn: s.now()}
	for _, w := range what {
		if _, err := w.row(s.now()); err != nil {
			return total, fmt.Errorf("automation: PreviewReplan: %w", err)
		}
		names := []string{w.Type}
		if w.Type == "" {
			names = s.registry.reminderTypes()
		}
		for _, name := range names {
			w.Type = name
			if err := s.previewOne(within(ctx, s.tx), w, &total); err != nil {
				return total, fmt.Errorf("automation: PreviewReplan: %w", err)
			}
		}
	}
	total.Duration = s.now().Sub(total.StartedOn)
	return total, nil
}

// previewOne adds the dry run of one re-plan.
func (s Maintenance) previewOne(ctx context.Context, what Replan, total *ReconcileReport) error {
	t, known := s.registry.reminder(what.Type)
	if !known {
		return fmt.Errorf("no reminder type %.40q is registered here", what.Type)
	}
	if total.More = total.More || total.Scanned >= previewed; total.More {
		return nil
	}
	run := s.keeper().beginReplan(what, t)
	run.DryRun = true
	for at := new(replanCursor); at != nil; {
		if total.Scanned+run.Scanned >= previewed {
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

// PreviewSource says what a reminder type wants for a source now: a finding for each
// candidate, in the order of their moments, with its key, its moment and what becomes of
// it: its row exists or has ended, its moment had passed, its local time does not exist,
// its setting is off, its condition is not met, or it has not been requested yet.
// Nothing is written. The error is for a type that is not registered here or has no
// provider, for a provider that fails, and for a candidate that is refused.
func (s *Scheduler) PreviewSource(ctx context.Context, scope Scope, reminderType string, source Source) ([]Finding, error) {
	out, err := s.explainer().previewSource(within(ctx, s.tx), scope, reminderType, source)
	if err != nil {
		return nil, fmt.Errorf("automation: PreviewSource: %w", err)
	}
	return out, nil
}

func (s explainer) previewSource(ctx context.Context, scope Scope, name string, source Source) ([]Finding, error) {
	t, ok := s.registry.reminder(name)
	if !ok || t.Triggers == nil {
		return nil, fmt.Errorf("no reminder type %.40q with a provider is registered here", name)
	}
	if field, err := checkTenancy(scope, ""); err != nil {
		return nil, fmt.Errorf("%s %w", field, err)
	}
	if _, err := keys.Join(source.Type, source.ID); err != nil {
		return nil, err
	}
	p, err := s.ask(ctx, t, scope, source)
	if err == nil {
		err = p.sources[0].err
	}
	if err != nil {
		return nil, err
	}
	out, err := s.findAll(ctx, p)
	slices.SortStableFunc(out, func(a, b Finding) int { return a.ScheduledOn.Compare(b.ScheduledOn) })
	return out, err
}
