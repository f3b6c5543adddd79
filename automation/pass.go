package automation

import (
	"context"
	"slices"
	"time"

	"github.com/belfry-go/belfry/internal/work"
)

// duePass is what a Poller runs over automation_scheduler.
func (s *Scheduler) duePass() work.Pass {
	return work.New(s.store, s.dueSpec("automation", 0, s.registry.ordinaryTypes))
}

// dueSpec is the due pass over rows of some types, a group of so many at once.
func (s *Scheduler) dueSpec(name string, group int, types func() []string) work.Spec[Schedule, *decision] {
	return work.Spec[Schedule, *decision]{
		Name: name, Table: schedules, Group: group,
		Claimable: []string{StatusPending}, Busy: StatusProcessing, Types: types, Except: s.paused,
		Handle: s.handle, Settled: s.settled, Dispatch: s.dispatch,
		Fail: func(now time.Time, r *Schedule, err error) { r.fail(now, err, s.registry.longRunning(r.Type)) },
		Abandon: func(now time.Time, r *Schedule) {
			s.registry.leaseLosses.Add(1)
			r.lose(now, s.registry.longRunning(r.Type))
		},
		Release: func(now time.Time, r *Schedule) { r.giveBack(now) },
	}
}

// handle decides about a group of rows of one type.
func (s *Scheduler) handle(ctx context.Context, items []work.Item[Schedule]) ([]*decision, error) {
	b := s.newBatch(items)
	b.run(ctx)
	out := make([]*decision, len(b.tries))
	for i, t := range b.tries {
		out[i] = t.settle(ctx, b)
	}
	b.writeTraces(ctx)
	b.end()
	return out, nil
}

// step is one named part of the due pass. It looks at the tries that are still
// under way, and ends those about which it can say the last word.
type step struct {
	name string
	do   func(b *batch, ctx context.Context)
}

// reminderSteps are what a due reminder goes through (Automation & Reminders,
// "Execution-time revalidation").
var reminderSteps = []step{
	{"decode", (*batch).decode},
	{"rollout", (*batch).checkRollout},
	{"settings", (*batch).loadSettings},
	{"lateness", (*batch).checkLateness},
	{"overtaken", (*batch).checkOvertaken},
	{"readings", (*batch).loadReadings},
	{"revalidate", (*batch).revalidate},
	{"recipients", (*batch).resolveRecipients},
	{"policy", (*batch).applyPolicy},
	{"artifacts", (*batch).makeArtifacts},
}

// validitySteps say whether a row is still wanted.
var validitySteps = []step{
	{"decode", (*batch).decode},
	{"settings", (*batch).loadSettings},
	{"readings", (*batch).loadReadings},
	{"revalidate", (*batch).revalidate},
}

// hostSteps are what a row of a host's type goes through; its settings are the
// handler's own business.
var hostSteps = []step{
	{"decode", (*batch).decode},
	{"rollout", (*batch).checkRollout},
	{"handler", (*batch).askHandler},
}

// reportSteps are what a run of a report goes through: those of a host's type, and
// the policy of its own type before the handler.
var reportSteps = slices.Insert(slices.Clone(hostSteps), len(hostSteps)-1,
	step{"lateness", (*batch).checkLateness},
	step{"overtaken", (*batch).checkOvertaken},
)
