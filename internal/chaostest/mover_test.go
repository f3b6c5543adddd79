package chaostest

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/automation"
)

var mover = automation.By{Actor: "mover", Reason: "the roll-out"}

// moving is a process that moves parts on and back, has support pick and give back
// single runs, and says again what the host wants.
type moving struct {
	reminders *automation.Scheduler
	rnd       *rand.Rand
	wants     []automation.Candidate
	runs      []occasion
}

// run goes on until alive ends. What is refused, or comes too late, is: all that
// counts is what became of the runs.
func (m *moving) run(ctx context.Context, alive <-chan struct{}) {
	all := parts()
	for {
		switch m.rnd.IntN(8) {
		case 0:
			from := m.rnd.IntN(len(m.wants))
			_, _ = m.reminders.Ensure(ctx, m.wants[from:min(from+20, len(m.wants))]...)
		case 1:
			to := []automation.Owner{automation.OldScheduler, automation.AutomationScheduler}[m.rnd.IntN(2)]
			_ = m.reminders.Rollout().TransferOwnership(ctx, "", m.runs[m.rnd.IntN(len(m.runs))].key, to, mover)
		default:
			m.move(ctx, all[m.rnd.IntN(len(all))])
		}
		select {
		case <-alive:
			return
		case <-clock.New().After(5 * time.Millisecond):
		}
	}
}

// move moves a part a step on, or back by any number.
func (m *moving) move(ctx context.Context, part automation.RolloutPart) {
	dry, err := m.reminders.Rollout().MoveRollout(ctx, part, automation.StageDesign, mover, &automation.ActionOptions{DryRun: true})
	if err != nil {
		return
	}
	to := min(dry.From+1, automation.StageCutOver)
	if m.rnd.IntN(6) == 0 {
		to = automation.Stage(m.rnd.IntN(int(dry.From) + 1))
	}
	_, _ = m.reminders.Rollout().MoveRollout(ctx, part, to, mover, nil)
}
