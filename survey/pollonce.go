package survey

import (
	"context"
	"errors"
	"sync"

	"github.com/belfry-go/belfry/internal/work"
)

// Report counts what a poll did.
type Report struct {
	// Processed rows were taken and settled: links sent, put off or expired, and
	// responses passed on. Zero: nothing that this process serves was due and free.
	Processed int
	// Abandoned rows, counted in Processed, were taken over from a process that is
	// gone.
	Abandoned int
	// Stale rows, counted in Processed, were written by somebody else meanwhile, such
	// as a customer's submission; they were not sent, or what came of the call was
	// added.
	Stale int
	// Failed rows could not be handled or stored, and are tried again later.
	Failed int
}

// polls are the runners of PollOnce, which remember where they were.
type polls struct {
	once    sync.Once
	runners []work.Runner
}

// errBound refuses what needs transactions of its own.
var errBound = errors.New("survey: not in a bound transaction")

// PollOnce is one tick (Triggers & Scheduler, "The scheduler"), for hosts with a
// timer of their own; with a Poller it is not needed. Each of the service's passes
// takes at most batchSize rows, at least one, and settles them: sends and expiries,
// then subscribers. Any number of calls, in any number of processes, may run at
// once. It returns what was done also where there is an error; a pass that fails
// does not stop the other.
func (s *Service) PollOnce(ctx context.Context, batchSize int) (Report, error) {
	if s.tx != nil {
		return Report{}, errBound
	}
	s.polls.once.Do(func() {
		for _, p := range s.Passes() {
			s.polls.runners = append(s.polls.runners, p.Runner(work.Options{Logger: s.options.Logger}))
		}
	})
	var sum work.Report
	var errs []error
	for _, r := range s.polls.runners {
		rep, err := r.Poll(ctx, max(batchSize, 1))
		sum = sum.Add(rep)
		errs = append(errs, err)
	}
	return Report{Processed: sum.Claimed, Abandoned: sum.Abandoned, Stale: sum.Stale, Failed: sum.Failed}, errors.Join(errs...)
}
