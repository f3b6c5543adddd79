package main

import (
	"context"
	"fmt"

	"github.com/belfry-go/belfry/automation"
)

var by = automation.By{Actor: "ann", Reason: "reports move to Belfry"}

// part is what moves together: a branch, or all that have not moved on their own.
func part(unit string) automation.RolloutPart {
	return automation.RolloutPart{Type: reportType, BusinessUnit: unit}
}

// called is how a part is called in the story.
func called(unit, otherwise string) string {
	if unit == "" {
		return otherwise
	}
	return unit
}

// move looks at a move, makes it, and says what it did.
func (s *story) move(ctx context.Context, unit string, to automation.Stage) (automation.RolloutMove, error) {
	planned, err := s.new.work.MoveRollout(ctx, part(unit), to, by, true)
	if err != nil {
		return planned, err
	}
	done, err := s.new.work.MoveRollout(ctx, part(unit), to, by, false)
	if err != nil {
		return done, err
	}
	s.happens("%s: from stage %s to %s, taken %d, returned %d, left %d", called(unit, "the rest"), done.From, done.To, done.Taken, done.Returned, done.Left)
	if planned.Taken != done.Taken || planned.Returned != done.Returned || planned.Left != done.Left {
		return done, fmt.Errorf("the dry run said something else: %+v", planned)
	}
	return done, s.look(ctx)
}

// look reads how far each branch is.
func (s *story) look(ctx context.Context) error {
	parts, err := s.new.work.Rollouts(ctx, "")
	if err != nil {
		return err
	}
	known := map[string]automation.Stage{}
	for _, r := range parts {
		known[r.BusinessUnit] = r.Stage
	}
	s.stages = map[string]string{}
	for _, b := range branches {
		stage, own := known[b.name]
		if !own {
			stage = known[""]
		}
		s.stages[b.name] = stage.String()
	}
	return nil
}

// compare says how the two sides differ, with two runs as examples.
func (s *story) compare(ctx context.Context, unit string, w automation.Window) (automation.RolloutComparison, error) {
	c, err := s.new.work.Compare(ctx, part(unit), w, 0)
	if err == nil {
		s.happens("%s, compared: %d on both sides, only here %d, only there %d, late %d, early %d", called(unit, "all"), c.Both, c.OnlyHere, c.OnlyThere, c.Late, c.Early)
		for _, r := range c.Runs[:min(2, len(c.Runs))] {
			s.say("                  %-9s %s", r.Kind, r.Key)
		}
	}
	return c, err
}
