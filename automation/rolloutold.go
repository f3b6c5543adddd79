package automation

import (
	"context"
	"fmt"
	"time"

	"github.com/belfry-go/belfry/storage"
)

// OldReport is what [Scheduler.ReportOldRun] found.
type OldReport struct {
	// Recorded runs were news, Known ones were reported or delivered under the guard
	// before.
	Recorded, Known int
	// Trespassed names runs that were this side's and not delivered yet. They count
	// as delivered by the old scheduler from now on; where this side wanted them,
	// their rows go on hold when they are due.
	Trespassed []string
	// Doubled names runs that this side had delivered already: people heard twice.
	Doubled []string
}

// ReportOldRun tells what the old scheduler has done, as long as it does not ask
// the guard itself: in [StageDesign] and [StageShadow]. [Scheduler.Compare] looks
// at it, and a run that was reported is never delivered here. Runs that are not
// known here belong to part for the comparison, whose Type is required. It is
// safe to repeat; the first report of a run stands.
func (s *Scheduler) ReportOldRun(ctx context.Context, part RolloutPart, runs ...OldRun) (OldReport, error) {
	if err := part.check(); err != nil {
		return OldReport{}, err
	}
	typed := make([]OldRun, len(runs))
	for i, run := range runs {
		run.Type = part.Type
		typed[i] = run
	}
	var report OldReport
	err := s.inTx(ctx, func(tx storage.Tx) error {
		rows, err := s.oldRows(part.Scope, typed, (*ownership).delivered)
		if err != nil {
			return err
		}
		for _, o := range rows {
			o.BusinessUnit = part.BusinessUnit
		}
		before := map[string]ownership{}
		got, err := ownerships.Ensure(ctx, tx, func(stored, want *ownership) (storage.Outcome, bool) {
			before[stored.Key] = *stored
			return stored.reported(want)
		}, rows...)
		report = OldReport{}
		for _, g := range got {
			was, known := before[g.Row.Key]
			report.count(g, was, known)
		}
		return err
	})
	if err != nil {
		return OldReport{}, fmt.Errorf("automation: ReportOldRun: %w", err)
	}
	return report, nil
}

// reported records that the old scheduler has delivered the run, whoever owns
// it: what is delivered is delivered.
func (o *ownership) reported(want *ownership) (storage.Outcome, bool) {
	switch {
	case !o.OldRanOn.IsZero():
		return storage.Unchanged, false
	case o.Status != OwnershipDeliveryCreated:
		if o.Status == OwnershipCancelled {
			o.to(time.Time{}, OwnershipOwned)
		}
		o.give(OldScheduler)
		o.to(want.EndedOn, OwnershipDeliveryCreated)
		o.Coordinates = want.Coordinates
	}
	o.OldRanOn = want.OldRanOn
	return storage.Updated, true
}

func (r *OldReport) count(g storage.Ensured[ownership], was ownership, known bool) {
	switch {
	case known && was.ran(AutomationScheduler):
		r.Doubled = append(r.Doubled, g.Row.Key)
	case g.Outcome == storage.Unchanged:
		r.Known++
	case known && was.Owner == AutomationScheduler:
		r.Trespassed = append(r.Trespassed, g.Row.Key)
	default:
		r.Recorded++
	}
}
