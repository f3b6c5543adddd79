package automation

import (
	"context"
	"slices"

	"github.com/belfry-go/belfry/storage"
)

// demand is what plans ask of the rows of conditions.
type demand map[conditionID][]plan

func demandOf(plans []plan) demand {
	d := demand{}
	for _, p := range plans {
		if p.condition != nil {
			id := p.condition.id()
			d[id] = append(d[id], p)
		}
	}
	return d
}

// of finds the plans that a row stands for: whether there are any, and whether
// one of them is met, which is then given.
func (d demand) of(row *Schedule) (p plan, known, met bool) {
	id, key, ok := conditionOf(row)
	if !ok {
		return plan{}, false, false
	}
	for _, p := range d[id] {
		if !p.condition.asksFor(row, key) {
			continue
		}
		if known = true; !p.unmet {
			return p, true, true
		}
	}
	return plan{}, known, false
}

// lookUp finds the plans that a row of any trigger stands for: whether there are
// any, and whether one of them wants it, which is then given.
func lookUp(plans []plan, row *Schedule) (p plan, known, wanted bool) {
	if row.TriggerType == ThresholdCondition {
		return demandOf(plans).of(row)
	}
	for _, p := range plans {
		if p.asksFor(row) {
			return p, true, true
		}
	}
	return plan{}, false, false
}

// ending says why a row that no plan names ends. One of an earlier day stays
// while its condition is met.
func (d demand) ending(row *Schedule) (Reason, bool) {
	_, known, met := d.of(row)
	switch {
	case met:
		return "", false
	case known:
		return ThresholdNoLongerMet, true
	}
	return Superseded, true
}

// endUnmet ends the open rows of conditions that are no longer met, where no
// event compares all rows of the source; by asks for them.
func (s *Scheduler) endUnmet(ctx context.Context, tx storage.Tx, plans []plan, by string) error {
	unmet := map[Scope][]plan{}
	for _, p := range plans {
		if p.unmet {
			unmet[p.want.Scope] = append(unmet[p.want.Scope], p)
		}
	}
	d := demandOf(plans)
	for scope, some := range unmet {
		_, err := s.deactivateBy(ctx, tx, Event{Scope: scope}, by, rowsOf(some), func(row *Schedule) (Reason, bool) {
			_, known, met := d.of(row)
			return ThresholdNoLongerMet, known && !met
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// rowsOf describes the rows of conditions of the settings and sources of plans.
func rowsOf(plans []plan) []storage.Cond {
	column := func(of func(plan) string) []string {
		out := make([]string, len(plans))
		for i, p := range plans {
			out[i] = of(p)
		}
		slices.Sort(out)
		return slices.Compact(out)
	}
	return []storage.Cond{
		storage.In("setting", column(func(p plan) string { return p.want.Setting })),
		storage.In("source_type", column(func(p plan) string { return p.want.SourceType })),
		storage.In("source", column(func(p plan) string { return p.want.Source })),
		storage.Eq("trigger_type", ThresholdCondition),
	}
}
