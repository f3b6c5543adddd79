package automation

import (
	"context"
	"slices"
	"time"

	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// underWorker is the answer for a row that a worker has. What is wanted now goes into
// the row: its new version makes what the worker decides stale, so that the try counts
// for nothing and the row is given back with the new wish. The status, the lease and
// the moment at which a lost lease is noticed stay, so that a worker that dies changes
// nothing of it.
func (r *scheduleRow) underWorker(now time.Time, want *scheduleRow) (storage.Outcome, bool) {
	switch {
	case r.InputHash != want.InputHash:
		r.giveBack(now)
		return storage.Conflict, r.holdConflict(want)
	case want.inShadow() || r.sameMoment(want):
		return storage.InFlight, false
	}
	r.moveTo(want)
	return storage.InFlight, true
}

// holdConflict keeps a row whose key is wanted with another input from going out.
func (r *scheduleRow) holdConflict(want *scheduleRow) bool {
	return r.hold(reasons.InputConflict, "wanted with input "+want.InputHash+", stands for "+r.InputHash)
}

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
func (d demand) of(row *scheduleRow) (p plan, known, met bool) {
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
func lookUp(plans []plan, row *scheduleRow) (p plan, known, wanted bool) {
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
func (d demand) ending(row *scheduleRow) (Reason, bool) {
	_, known, met := d.of(row)
	switch {
	case met:
		return "", false
	case known:
		return reasons.ThresholdNoLongerMet, true
	}
	return reasons.Superseded, true
}

// endUnmet ends the open rows of conditions that are no longer met, where no
// event compares all rows of the source; by asks for them.
func (s ensurer) endUnmet(ctx context.Context, tx storage.Tx, plans []plan, by author) error {
	unmet := map[Scope][]plan{}
	for _, p := range plans {
		if p.unmet {
			unmet[p.want.Scope] = append(unmet[p.want.Scope], p)
		}
	}
	d := demandOf(plans)
	for scope, some := range unmet {
		_, err := s.deactivateBy(ctx, tx, Event{Scope: scope}, by, rowsOf(some), func(row *scheduleRow) (Reason, bool) {
			_, known, met := d.of(row)
			return reasons.ThresholdNoLongerMet, known && !met
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// rowsOf describes the rows of conditions of the settings and sources of plans.
func rowsOf(plans []plan) []driver.Cond {
	column := func(of func(plan) string) []string {
		out := make([]string, len(plans))
		for i, p := range plans {
			out[i] = of(p)
		}
		slices.Sort(out)
		return slices.Compact(out)
	}
	return []driver.Cond{
		driver.In("setting", column(func(p plan) string { return p.want.Setting })),
		driver.In("source_type", column(func(p plan) string { return p.want.SourceType })),
		driver.In("source", column(func(p plan) string { return p.want.Source })),
		driver.Eq("trigger_type", ThresholdCondition),
	}
}
