package main

import (
	"context"
	"fmt"

	"github.com/belfry-go/belfry/automation"
)

// outage stops Belfry while a run of Sydney would be due, at 23:00 UTC.
func (s *story) outage(context.Context) error {
	s.new.down = true
	s.happens("Belfry is down")
	return nil
}

// sydneyGoesBack gives what Belfry has missed to the old scheduler.
func (s *story) sydneyGoesBack(ctx context.Context) error {
	done, err := s.move(ctx, "sydney", automation.StageShadow)
	if err != nil {
		return err
	}
	overdue := 0
	for _, r := range done.Runs {
		if r.Overdue {
			overdue++
		}
	}
	if overdue != 1 {
		return fmt.Errorf("one run of Sydney should be overdue: %+v", done.Runs)
	}
	if err := s.old.catchUp(ctx, s.clk.Now()); err != nil {
		return err
	}
	s.new.down = false
	s.happens("the old scheduler has done the overdue run; Belfry is up again")
	return nil
}

// trespass is an old copy of the old scheduler on a machine whose clock is an hour
// ahead, which has learned nothing.
func (s *story) trespass(ctx context.Context) error {
	j, scheduled, err := s.old.jobOf("report-subscription:riyadh-sales:scheduled:2026-04-06T06:00:00Z")
	if err == nil {
		err = s.old.run(ctx, j, silent, scheduled, s.clk.Now())
	}
	if err == nil {
		err = s.old.deliver(ctx)
	}
	if err != nil {
		return err
	}
	s.happens("a forgotten copy of the old scheduler sends a report and asks nobody")
	got, err := s.reportLog(ctx)
	if err == nil && len(got.Trespassed) != 1 {
		err = fmt.Errorf("one run should have trespassed: %+v", got)
	}
	return err
}

// resolve is what a person does about the conflict.
func (s *story) resolve(ctx context.Context) error {
	contested, err := s.conflicts(ctx)
	if err != nil {
		return err
	}
	if len(contested) != 1 {
		return fmt.Errorf("there should be one conflict: %+v", contested)
	}
	done := automation.By{Actor: "ann", Reason: "the old scheduler has delivered it"}
	if err := s.new.work.Cancel(ctx, "", contested[0].Key, done); err != nil {
		return err
	}
	s.happens("the old scheduler has delivered it: the row is cancelled, the copy switched off")
	_, err = s.move(ctx, "riyadh", automation.StageShadow)
	return err
}

// forwardAgain brings both branches where they were.
func (s *story) forwardAgain(ctx context.Context) error {
	for _, unit := range []string{"riyadh", "sydney"} {
		for _, stage := range []automation.Stage{automation.StageRunNow, automation.StageScheduled} {
			if _, err := s.move(ctx, unit, stage); err != nil {
				return err
			}
		}
	}
	return nil
}
