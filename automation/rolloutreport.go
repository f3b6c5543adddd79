package automation

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/belfry-go/belfry/storage"
)

// RolloutReport says how the runs of a part did, stage by stage.
type RolloutReport struct {
	Part   RolloutPart
	Window Window
	// Stages has those in which there were runs, the first one first. A run counts
	// for the stage in which it was delivered, else for the one of its part now.
	Stages []StageReport
	// Capped says that there are more than 100,000 runs, which are looked at.
	Capped bool
}

// StageReport counts runs of one stage.
type StageReport struct {
	Stage Stage
	Runs  int
	// Delivered here, DeliveredThere by the old scheduler, and Cancelled: nothing
	// was to be delivered.
	Delivered, DeliveredThere, Cancelled int
	// Conflicts are on hold since both sides wanted them, Doubled were delivered by
	// both, as far as the old scheduler has said so.
	Conflicts, Doubled int
	// Failed tries of runs that are not delivered, and runs that are on hold for
	// another reason than a conflict.
	Failing, Held int
	// Undelivered runs have come, and their owner has not delivered them.
	Undelivered int
	// How long after its moment a run was delivered here.
	LatencyMedian, Latency95, LatencyMax time.Duration

	latencies []time.Duration
}

// RolloutReport counts the runs of a part whose moment is in the window: what to
// watch while a stage lasts. It writes nothing.
func (s *Scheduler) RolloutReport(ctx context.Context, part RolloutPart, w Window) (RolloutReport, error) {
	w, err := w.check(s.now())
	if err == nil {
		err = part.check()
	}
	out := RolloutReport{Part: part, Window: w}
	byStage := map[Stage]*StageReport{}
	if err == nil {
		err = s.inTx(ctx, func(tx storage.Tx) error {
			clear(byStage)
			out.Capped, err = s.countRuns(ctx, tx, part, w, byStage)
			return err
		})
	}
	if err != nil {
		return RolloutReport{}, fmt.Errorf("automation: RolloutReport: %w", err)
	}
	for stage := StageDesign; stage <= StageCutOver; stage++ {
		if r := byStage[stage]; r != nil {
			r.summarize()
			out.Stages = append(out.Stages, *r)
		}
	}
	return out, nil
}

func (s *Scheduler) countRuns(ctx context.Context, tx storage.Tx, part RolloutPart, w Window, byStage map[Stage]*StageReport) (bool, error) {
	type run struct {
		o   *ownership
		row *Schedule
	}
	var runs []run
	var parts []RolloutPart
	capped, err := eachRun(ctx, tx, part, w, func(o *ownership, row *Schedule) {
		runs, parts = append(runs, run{o, row}), append(parts, o.rolloutPart())
	})
	if err != nil {
		return false, err
	}
	stages, err := loadStages(ctx, tx, parts)
	for _, r := range runs {
		stage := r.o.Stage
		if !r.o.ran(AutomationScheduler) {
			stage = stages.of(r.o.rolloutPart())
		}
		if byStage[stage] == nil {
			byStage[stage] = &StageReport{Stage: stage}
		}
		byStage[stage].add(r.o, r.row)
	}
	return capped, err
}

// add counts one run; row may be nil.
func (r *StageReport) add(o *ownership, row *Schedule) {
	r.Runs++
	switch {
	case o.ran(AutomationScheduler):
		r.Delivered++
		r.latencies = append(r.latencies, o.EndedOn.Sub(o.ScheduledOn))
		if !o.OldRanOn.IsZero() {
			r.Doubled++
		}
	case o.ran(OldScheduler):
		r.DeliveredThere++
	case o.Status == OwnershipCancelled:
		r.Cancelled++
	default:
		r.Undelivered++
	}
	switch {
	case row == nil:
	case row.IsOnSupportHold && row.HoldReason == OwnershipConflict:
		r.Conflicts++
	case row.IsOnSupportHold:
		r.Held++
	case row.IsOpen() && row.RetryCount > 0:
		r.Failing++
	}
}

func (r *StageReport) summarize() {
	slices.Sort(r.latencies)
	if n := len(r.latencies); n > 0 {
		r.LatencyMedian, r.Latency95, r.LatencyMax = r.latencies[n/2], r.latencies[n*95/100], r.latencies[n-1]
	}
	r.latencies = nil
}
