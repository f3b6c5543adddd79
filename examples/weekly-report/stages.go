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
	if err := s.now.subscribe(ctx); err != nil {
		return err
	}
	s.old.refused = func(unit string) { s.ledger.refused[s.stages[unit]]++ }
	if err := s.look(ctx, ""); err != nil {
		return err
	}
	s.happens("%d subscriptions, in shadow. Such as:", len(branches)*len(reports))
	rows := `SELECT key, status, reason_code FROM automation_scheduler ORDER BY key LIMIT 2`
	if err := s.print(ctx, rows); err != nil {
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

// reportLog tells Belfry what is in the old scheduler's log.
func (s *story) reportLog(ctx context.Context) (all automation.OldReport, err error) {
	letters, err := s.old.outbox(ctx, 1)
	if err != nil {
		return all, err
	}
	for _, l := range letters {
		j, _, err := s.old.jobOf(l.key)
		if err != nil {
			return all, err
		}
		got, err := s.now.work.ReportOldRun(ctx, part(j.unit), automation.OldRun{Key: l.key, RanOn: l.ranOn})
		if err != nil {
			return all, err
		}
		all.Recorded += got.Recorded
		all.Known += got.Known
		all.Trespassed = append(all.Trespassed, got.Trespassed...)
		all.Doubled = append(all.Doubled, got.Doubled...)
	}
	s.happens("the old scheduler's log: %d runs are news, %d known, %d trespassed, %d doubled", all.Recorded, all.Known, len(all.Trespassed), len(all.Doubled))
	return all, nil
}

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
	asked, err := s.now.reports.RunNow(ctx, "", "dublin-sales", "", by)
	if err != nil {
		return err
	}
	s.ledger.entry(subject("dublin-sales", "2026-03-15") + ", asked for").stage = s.stages["dublin"]
	s.happens("asked for: %s %s", asked.Outcome, asked.Status)
	if _, err := s.now.reports.Refresh(ctx, "", report.Page{}); err != nil {
		return err
	}
	key := "report-subscription:dublin-sales:scheduled:2026-03-16T09:00:00Z"
	if err := s.now.work.TransferOwnership(ctx, "", key, automation.AutomationScheduler, by); err != nil {
		return err
	}
	s.happens("picked: %s", key)
	return nil
}
