package automation

import (
	"context"
	"fmt"

	"github.com/belfry-go/belfry/internal/work"
)

// askHandler lets the host's handler decide about all rows under way.
func (b *batch) askHandler(ctx context.Context) {
	if tries := b.open(); len(tries) > 0 {
		b.askTogether(ctx, tries)
	}
}

// askTogether asks about many rows at once, and if that fails row by row.
func (b *batch) askTogether(ctx context.Context, tries []*try) {
	due := make([]Due, len(tries))
	for i, t := range tries {
		due[i] = t.due
	}
	if len(tries) == 1 {
		ctx = tries[0].ctx
	}
	var outcomes []Outcome
	err := work.Guard(func() (err error) {
		outcomes, err = b.handler.Handle(ctx, due)
		if err == nil && len(outcomes) != len(due) {
			err = fmt.Errorf("automation: the handler of %s gave %d outcomes for %d rows", tries[0].row.Type, len(outcomes), len(due))
		}
		return err
	})
	switch {
	case err == nil:
		for i, t := range tries {
			t.take(ctx, b.s, outcomes[i])
		}
	case len(tries) == 1:
		tries[0].err = err
	default:
		for _, t := range tries {
			b.askTogether(ctx, []*try{t})
		}
	}
}

// take checks an outcome and makes it the try's. What would be refused later is
// refused here, as a failure of this row.
func (t *try) take(ctx context.Context, s *Scheduler, o Outcome) {
	if t.err = o.Err; t.err != nil {
		return
	}
	plans, err := s.plans(ctx, o.Candidates)
	if err != nil {
		t.err = err
		return
	}
	t.stop, t.result, t.done = o.Deactivate, o.Result, o.Deactivate == ""
	if !o.Artifacts.empty() {
		if t.row.AutomationType == TypeReportSubscription {
			o.Artifacts.AutomationJobs = append(o.Artifacts.AutomationJobs, t.mirror())
		}
		t.decision = &decision{plans: plans, artifacts: o.Artifacts}
	}
}
