package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/report"
)

// design is stage 0: rows are made, in shadow.
func (s *story) design(ctx context.Context) error {
	if err := s.new.subscribe(ctx); err != nil {
		return err
	}
	s.old.refused = func(unit string) { s.ledger.refused[s.stages[unit]]++ }
	if err := s.look(ctx); err != nil {
		return err
	}
	s.happens("%d subscriptions", len(branches)*len(reports))
	if err := s.shadows(ctx); err != nil {
		return err
	}
	return s.old.rehearse(ctx, s.clk.Now())
}

// shadow is stage 1: Belfry hears what the old scheduler does.
func (s *story) shadow(ctx context.Context) error {
	if _, err := s.move(ctx, "", automation.StageShadow); err != nil {
		return err
	}
	s.old.knows = tells
	_, err := s.reportLog(ctx)
	return err
}

// compareAndMend finds what would have gone wrong: the two sides build different
// keys, of which the guard could not know that they mean one run.
func (s *story) compareAndMend(ctx context.Context) error {
	c, err := s.compare(ctx, "", automation.Window{From: firstDay})
	if err != nil {
		return err
	}
	if c.OnlyHere != 1 || c.OnlyThere != 1 {
		return errors.New("the clocks of New York should have made one pair")
	}
	for i := range s.old.jobs {
		if s.old.jobs[i].zone == "EST" {
			s.old.jobs[i].zone = "America/New_York"
		}
	}
	s.happens("the old jobs of New York went by winter time; that is mended")
	return nil
}

// same checks that there is nothing to explain.
func (s *story) same(ctx context.Context, unit string, w automation.Window) error {
	c, err := s.compare(ctx, unit, w)
	if err == nil && !c.Same() {
		err = fmt.Errorf("the two sides differ: %+v", c)
	}
	return err
}

// pick is stage 2: one branch, one run that somebody asks for, and one that
// somebody picks.
func (s *story) pick(ctx context.Context) error {
	if err := s.same(ctx, "", automation.Window{From: at(3, 12, 0)}); err != nil {
		return err
	}
	s.old.knows = asks
	if _, err := s.move(ctx, "dublin", automation.StageRunNow); err != nil {
		return err
	}
	asked, err := s.new.reports.RunNow(ctx, "", "dublin-sales", "", by)
	if err != nil {
		return err
	}
	s.ledger.entry(subject("dublin-sales", "2026-03-15") + ", asked for").stage = s.stages["dublin"]
	s.happens("asked for: %s %s", asked.Outcome, asked.Status)
	if _, err := s.new.reports.Refresh(ctx, "", report.Page{}); err != nil {
		return err
	}
	key := "report-subscription:dublin-sales:scheduled:2026-03-16T09:00:00Z"
	if err := s.new.work.TransferOwnership(ctx, "", key, automation.AutomationScheduler, by); err != nil {
		return err
	}
	s.happens("picked: %s", key)
	return nil
}
