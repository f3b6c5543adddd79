package outbox

import (
	"context"
	"errors"
	"sync"

	"github.com/belfry-go/belfry/internal/work"
)

// Pass delivers what is due to the subscribers of this process. Each has a pass
// of its own, so that one that is slow, with however many events behind it, takes
// no other's turn.
func (b *Box) Pass() work.Pass { return work.Prepared(fan{b}, b.prepare) }

type fan struct{ box *Box }

func (f fan) Name() string { return f.box.name }

func (f fan) Runner(o work.Options) work.Runner {
	return &fanRunner{box: f.box, o: o, runners: map[string]work.Runner{}}
}

// fanRunner has a runner for each subscriber.
type fanRunner struct {
	box *Box
	o   work.Options

	mu      sync.Mutex
	runners map[string]work.Runner
}

// all are the runners, those of new subscribers included.
func (r *fanRunner) all() []work.Runner {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []work.Runner
	for _, key := range r.box.Keys() {
		if r.runners[key] == nil {
			r.runners[key] = r.box.of(key).Runner(r.o)
		}
		out = append(out, r.runners[key])
	}
	return out
}

// Poll polls for all subscribers side by side.
func (r *fanRunner) Poll(ctx context.Context, batch int) (work.Report, error) {
	runners := r.all()
	reports, errs := make([]work.Report, len(runners)), make([]error, len(runners))
	var polls sync.WaitGroup
	for i, runner := range runners {
		polls.Go(func() { reports[i], errs[i] = runner.Poll(ctx, batch) })
	}
	polls.Wait()
	var sum work.Report
	for _, rep := range reports {
		sum = sum.Add(rep)
	}
	return sum, errors.Join(errs...)
}

// Run runs for the subscribers that there are when it begins.
func (r *fanRunner) Run(ctx context.Context) error {
	runners := r.all()
	errs := make([]error, len(runners))
	var runs sync.WaitGroup
	for i, runner := range runners {
		runs.Go(func() { errs[i] = runner.Run(ctx) })
	}
	<-ctx.Done()
	runs.Wait()
	for _, err := range errs {
		if err != ctx.Err() { // it says more
			return err
		}
	}
	return ctx.Err()
}
