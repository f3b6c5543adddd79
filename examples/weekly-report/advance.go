package main

import (
	"context"
	"fmt"
	"time"

	"github.com/belfry-go/belfry/automation"
)

// scheduled is stage 3 for one branch.
func (s *story) scheduled(ctx context.Context) error {
	_, err := s.move(ctx, "dublin", automation.StageScheduled)
	return err
}

// othersRunNow and othersScheduled follow for all that have no stage of their own.
func (s *story) othersRunNow(ctx context.Context) error {
	for _, unit := range []string{"newyork", "riyadh", "sydney"} {
		if err := s.same(ctx, unit, automation.Window{From: at(3, 12, 0)}); err != nil {
			return err
		}
	}
	if err := s.health(ctx, "dublin", at(3, 22, 0)); err != nil {
		return err
	}
	_, err := s.move(ctx, "", automation.StageRunNow)
	return err
}

func (s *story) othersScheduled(ctx context.Context) error {
	_, err := s.move(ctx, "", automation.StageScheduled)
	return err
}

// health prints what to watch.
func (s *story) health(ctx context.Context, unit string, since time.Time) error {
	got, err := s.new.work.RolloutReport(ctx, part(unit), automation.Window{From: since})
	for _, r := range got.Stages {
		s.happens("%s, %s: %d runs, %d delivered here, %d there, %d undelivered, %d conflicts, %d doubled, latency %v",
			called(unit, "all"), r.Stage, r.Runs, r.Delivered, r.DeliveredThere, r.Undelivered, r.Conflicts, r.Doubled, r.LatencyMax)
		if r.Doubled > 0 || r.Held > 0 || r.Failing > 0 {
			return fmt.Errorf("%s is not well: %+v", unit, r)
		}
	}
	return err
}

// cutOver is stage 4: the old jobs are switched off.
func (s *story) cutOver(ctx context.Context) error {
	since := at(4, 8, 0)
	if err := s.health(ctx, "", since); err != nil {
		return err
	}
	c, err := s.compare(ctx, "", automation.Window{From: since}) // what Belfry delivered is only here
	if err != nil {
		return err
	}
	overdue, err := s.old.overdue(ctx, s.clk.Now())
	if err != nil {
		return err
	}
	if c.OnlyThere > 0 || len(overdue) > 0 {
		return fmt.Errorf("not yet: %+v, overdue %v", c, overdue)
	}
	if err := s.moveAll(ctx, automation.StageCutOver); err != nil {
		return err
	}
	s.old.off = true
	s.happens("the old scheduler is switched off")
	return nil
}

// backTo3 takes one step back: the old jobs run again, and ask.
func (s *story) backTo3(ctx context.Context) error {
	if err := s.moveAll(ctx, automation.StageScheduled); err != nil {
		return err
	}
	s.old.off = false
	s.happens("the old scheduler is switched on")
	for unit := range s.stages {
		s.stages[unit] = "3 again"
	}
	return nil
}

// moveAll moves each part that has a stage.
func (s *story) moveAll(ctx context.Context, to automation.Stage) error {
	parts, err := s.new.work.Rollouts(ctx, "")
	for _, p := range parts {
		if err == nil {
			_, err = s.move(ctx, p.BusinessUnit, to)
		}
	}
	return err
}

// settled says that nothing is left over at the end.
func (s *story) settled(ctx context.Context) error {
	overdue, err := s.old.overdue(ctx, s.clk.Now())
	if err != nil {
		return err
	}
	contested, err := s.conflicts(ctx)
	if err == nil && len(overdue)+len(contested) > 0 {
		err = fmt.Errorf("overdue: %v, contested: %v", overdue, contested)
	}
	return err
}
