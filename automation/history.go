package automation

import (
	"context"
	"errors"
	"fmt"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
)

// historian is a dispatcher that keeps the traces of runs, such as
// *notify.Notifier.
type historian interface {
	AutomationJobs(ctx context.Context, tx storage.Tx, scope Scope, sourceType, source string, p notify.Page) ([]notify.AutomationJob, error)
}

// History lists the runs of due work about a source that led to a delivery: one
// trace for each, written once when it was dispatched (Automation & Reminders,
// "AutomationJob"). It goes on after the row of a run was archived. Pages are in
// the order of keys, which is not that of time; After is the Key of the last one.
// Explain tells the story of a single row. The error says so if the dispatcher
// keeps no traces.
func (s *Scheduler) History(ctx context.Context, scope Scope, source Source, p notify.Page) ([]notify.AutomationJob, error) {
	out, ok := s.out.(historian)
	if !ok {
		return nil, errors.New("automation: History: the dispatcher keeps no traces of runs")
	}
	jobs, err := out.AutomationJobs(ctx, s.tx, scope, source.Type, source.ID, p)
	if err != nil {
		return nil, fmt.Errorf("automation: History: %w", err)
	}
	return jobs, nil
}
