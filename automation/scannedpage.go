package automation

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/storage"
)

// scannedPage is one batch of sources on its way through a reconciliation.
type scannedPage struct {
	s       *Scheduler
	t       ReminderType
	scope   Scope
	now     time.Time
	sources []*scannedSource
	next    string
	done    bool
}

// scannedSource is a source with what it wants and what is different.
type scannedSource struct {
	event Event
	plan  eventPlan
	found found
	asked []plan // those of plan, measured
	err   error  // of its provider; nothing of it is compared
	stale bool   // it has shown a newer version
}

// reconcilePage reads, compares and, unless it is a dry run, repairs one page of
// at most a batch, and counts it into r. After an error nothing of the page was
// written, but for an unknown outcome, and r is what it was.
func (s *Scheduler) reconcilePage(ctx context.Context, t ReminderType, r *ReconcileReport, after string) (*scannedPage, error) {
	p, err := s.readPage(ctx, t, r, after)
	if err != nil {
		return nil, fmt.Errorf("automation: scan of %s: %w", t.Name, err)
	}
	if err := p.planAll(ctx); err != nil {
		return nil, err
	}
	err = s.store.InTx(ctx, func(tx storage.Tx) error { return p.compare(ctx, tx, p.planned()) })
	if err != nil {
		return nil, fmt.Errorf("automation: reconciling %s: %w", t.Name, err)
	}
	if err := p.finish(ctx, r.DryRun); err != nil {
		return nil, fmt.Errorf("automation: reconciling %s: %w", t.Name, err)
	}
	r.count(p)
	return p, nil
}

// readPage asks for one page and checks it.
func (s *Scheduler) readPage(ctx context.Context, t ReminderType, r *ReconcileReport, after string) (*scannedPage, error) {
	request := ScanRequest{
		Scope: r.Scope, BusinessUnits: slices.Clone(t.Scan.BusinessUnits), ChangedSince: r.ChangedSince,
		From: r.From, To: r.To, NewFrom: r.NewFrom, After: after, Limit: t.Scan.Batch,
	}
	var page ScanPage
	err := work.Guard(func() (err error) {
		page, err = t.Scan.Read(ctx, request)
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := page.check(t.Scan, request); err != nil {
		return nil, err
	}
	p := &scannedPage{s: s, t: t, scope: r.Scope, now: s.now(), next: page.Next, done: page.Done}
	for _, x := range page.Sources {
		e := Event{Scope: r.Scope, Type: EventReconcile, Source: x.Source, Version: x.Version, Data: x.Data}
		p.sources = append(p.sources, &scannedSource{event: e})
	}
	return p, nil
}

// planAll asks what the sources want, and loads their settings at once. A source
// whose provider fails stands for itself; the error is for all of them.
func (p *scannedPage) planAll(ctx context.Context) error {
	var spoken []string
	for _, x := range p.sources {
		x.err = p.plan(ctx, x)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		spoken = append(spoken, x.plan.spoken...)
	}
	slices.Sort(spoken)
	off, err := p.s.inactive(ctx, p.scope, slices.Compact(spoken))
	for _, x := range p.sources {
		x.plan.off = off
	}
	return err
}

// plan asks the provider about one source.
func (p *scannedPage) plan(ctx context.Context, x *scannedSource) error {
	x.plan = eventPlan{}
	err := work.Guard(func() error {
		return p.s.planTriggers(ctx, x.event, route{triggers: []string{p.t.Name}}, &x.plan)
	})
	if err != nil {
		return err
	}
	for _, plan := range x.plan.plans {
		if allowed := p.t.Scan.BusinessUnits; len(allowed) > 0 && !slices.Contains(allowed, plan.want.BusinessUnit) {
			return fmt.Errorf("automation: candidates of %s: the Scan does not allow business unit %.40q", p.t.Name, plan.want.BusinessUnit)
		}
	}
	return nil
}

// planned are the sources that can be compared.
func (p *scannedPage) planned() []*scannedSource {
	return p.pick(func(x *scannedSource) bool { return x.err == nil })
}

func (p *scannedPage) pick(wanted func(*scannedSource) bool) []*scannedSource {
	var out []*scannedSource
	for _, x := range p.sources {
		if wanted(x) {
			out = append(out, x)
		}
	}
	return out
}

// finish repairs what is different, or only looks whether it would.
func (p *scannedPage) finish(ctx context.Context, dry bool) error {
	different := p.pick(func(x *scannedSource) bool { return x.err == nil && x.found.writes() })
	if len(different) == 0 {
		return nil
	}
	return p.s.store.InTx(ctx, func(tx storage.Tx) error {
		if dry {
			return p.findStale(ctx, tx, different)
		}
		return p.repair(ctx, tx, different)
	})
}
