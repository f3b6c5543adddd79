package automation

import (
	"cmp"
	"context"

	"github.com/belfry-go/belfry/internal/work"
)

// reportPass is the due pass over runs of reports: one run in a group, so that
// each is settled when it is done, and few of them claimed ahead, so that other
// processes find some as well. It rests while no type of report is registered.
type reportPass struct{ s *Scheduler }

func (p reportPass) Name() string { return "automation.report" }

// defaultBuilds is how many reports a poller builds at once, unless it says so.
const defaultBuilds = 8

func (p reportPass) Runner(o work.Options) work.Runner {
	o.Batch = min(cmp.Or(o.Batch, defaultBuilds), cmp.Or(o.Concurrency, defaultBuilds))
	o.InFlight = 2 * o.Batch
	pass := work.New(p.s.store, p.s.dueSpec(p.Name(), 1, func() []string {
		names, _ := p.s.registry.reportTypes()
		return names
	}))
	return &reportRunner{inner: pass.Runner(o), s: p.s}
}

type reportRunner struct {
	inner work.Runner
	s     *Scheduler
}

func (r *reportRunner) Poll(ctx context.Context, batch int) (work.Report, error) {
	if names, _ := r.s.registry.reportTypes(); len(names) == 0 {
		return work.Report{}, nil
	}
	return r.inner.Poll(ctx, batch)
}

func (r *reportRunner) Run(ctx context.Context) error {
	for names, added := r.s.registry.reportTypes(); len(names) == 0; names, added = r.s.registry.reportTypes() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-added:
		}
	}
	return r.inner.Run(ctx)
}
