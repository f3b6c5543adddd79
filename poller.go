package belfry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/belfry-go/belfry/health"
	"github.com/belfry-go/belfry/internal/loglimit"
	"github.com/belfry-go/belfry/internal/sweep"
	"github.com/belfry-go/belfry/internal/wiring"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/storage"
)

// Service is something a Poller can run: *automation.Scheduler, *notify.Notifier
// and *survey.Service. It is sealed, since its passes and rules are
// internal.
type Service interface {
	// Passes are the kinds of due rows that the service handles.
	Passes() []work.Pass
	// SweepRules say what retention deletes, and what an erasure removes, in its tables.
	SweepRules() []sweep.Rules
	// Wiring names the service's store and the services that it hands work to.
	Wiring() wiring.Service
	// Health reports its work, in one scope or everywhere.
	Health(ctx context.Context, reach storage.ScopeFilter) (health.Summary, error)
}

// Report counts what a poll did; its fields are documented where they are named.
type Report struct {
	// Claimed rows, including abandoned ones. Zero means that no row for this process was
	// due and free.
	Claimed int
	// Abandoned rows were taken over after an expired lease, and settled without running
	// their handler.
	Abandoned int
	// Settled rows had their new state committed.
	Settled int
	// Stale rows were changed by another writer while they were handled, such as an event
	// that deactivated them; their result was dropped.
	Stale int
	// Failed rows could not be handled or stored and were put back with a delay.
	Failed int
	// Released rows were returned unhandled because the context ended.
	Released int
}

// Poller claims due rows for its services and settles them. Any number of pollers, in any
// number of processes, may work on one store; each row is claimed by one of them. It is
// safe for concurrent use.
type Poller struct {
	options  Options // with the defaults that the poller itself needs
	runners  []work.Runner
	sweep    *sweep.Sweep
	services []Service
	store    storage.Store
	runs     atomic.Int32 // calls of Run under way
	alarmed  atomic.Value // the driver.Loss of the last alarm
}

// NewPoller makes a poller over the services, which must be made on store. A Scheduler
// with reminder types or reports needs the Notifier that it was made with among the
// services, or nothing would be sent. For a process that must not send, make that
// Notifier without channels. Run, PollOnce and Drain check this before they do anything,
// so types may be registered until then. They cannot check that a host's own handler
// returns deliveries, which need the Notifier, too.
//
// NewPoller starts nothing. It panics on a nil store or service.
func NewPoller(store storage.Store, opts *Options, services ...Service) *Poller {
	if store == nil {
		panic("belfry: NewPoller with a nil store")
	}
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.Logger = loglimit.Limited(o.Logger); o.Store != "" {
		o.Logger = o.Logger.With("store", o.Store)
	}
	p := &Poller{options: o, services: slices.Clone(services), store: store}
	p.options.Batch = cmp.Or(o.Batch, defaultBatch)
	p.options.Interval = cmp.Or(o.Interval, defaultInterval)
	p.options.Grace = cmp.Or(o.Grace, defaultGrace)
	var rules []sweep.Rules
	for i, s := range services {
		if s == nil {
			panic(fmt.Sprintf("belfry: NewPoller: service %d is nil", i))
		}
		for _, pass := range s.Passes() {
			p.runners = append(p.runners, pass.Runner(o.forWork()))
		}
		rules = append(rules, s.SweepRules()...)
	}
	p.sweep = p.sweeping(rules)
	return p
}

const (
	defaultBatch    = 1000
	defaultInterval = time.Second
	defaultGrace    = 30 * time.Second
	hangs           = 2 * time.Second // a pass takes no longer behind its grace
)

// wired checks that there are services, that none that is needed is missing, and that all
// have the same store.
func (p *Poller) wired() error {
	if len(p.services) == 0 {
		return errors.New("belfry: NewPoller: no service is given, so that nothing would be sent: give it a notify.Notifier, an automation.Scheduler or a survey.Service")
	}
	all := make([]wiring.Service, len(p.services))
	for i, s := range p.services {
		all[i] = s.Wiring()
	}
	if err := wiring.Check(p.store, all); err != nil {
		return fmt.Errorf("belfry: NewPoller: %w", err)
	}
	return nil
}

// Run polls until ctx ends. Then it claims nothing more, waits for running handlers (see
// Options.Grace), and releases the other rows, within two more seconds even if the
// database hangs. It returns ctx's error, or storage.ErrClosed if the host has closed the
// store or its pool before; then the results of running handlers are lost, as after a
// crash. Run needs a real clock: with a mock clock use PollOnce or Drain.
func (p *Poller) Run(ctx context.Context) error {
	if err := p.wired(); err != nil {
		return err
	}
	p.runs.Add(1)
	defer p.runs.Add(-1)
	defer p.observe()()
	g, ctx := errgroup.WithContext(ctx)
	for _, r := range p.runners {
		g.Go(func() error { return r.Run(ctx) })
	}
	g.Go(func() error { return p.sweep.Run(ctx) })
	g.Go(func() error {
		p.watchLosses(ctx)
		return nil
	})
	ended := make(chan error, 1)
	go func() { ended <- g.Wait() }()
	err := p.within(ctx, ended)
	if errors.Is(err, storage.ErrClosed) {
		return fmt.Errorf("belfry: the database handle was closed while the poller ran: %w", err)
	}
	return err
}

// within waits for the end of the passes, no longer than for handlers. A driver may
// ignore ctx and wait for a silent network.
func (p *Poller) within(ctx context.Context, ended <-chan error) error {
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	late := realClock.Timer(p.options.Grace + hangs)
	defer late.Stop()
	select {
	case err := <-ended:
		return err
	case <-late.C:
		return fmt.Errorf("belfry: the database does not answer, and passes still wait for it: %w", ctx.Err())
	}
}

// PollOnce lets each pass claim, handle and settle at most batchSize rows, in the order
// of the services. It also continues due erasures, and deletes one page of old rows of
// each table and of orphaned blobs; the Report does not count these. It returns what was
// done even with an error; a failing pass does not stop the others.
func (p *Poller) PollOnce(ctx context.Context, batchSize int) (Report, error) {
	if err := p.wired(); err != nil {
		return Report{}, err
	}
	var sum work.Report
	var errs []error
	for _, r := range p.runners {
		rep, err := r.Poll(ctx, max(batchSize, 1))
		sum = sum.Add(rep)
		errs = append(errs, err)
	}
	_, err := p.sweep.Poll(ctx)
	p.alarm(ctx)
	return Report(sum), errors.Join(append(errs, err)...)
}

// Drain polls until no pass finds a row to claim or to delete. Use it in tests,
// demonstrations, and endpoints that an external timer calls.
func (p *Poller) Drain(ctx context.Context) error {
	for {
		rep, err := p.PollOnce(ctx, p.options.Batch)
		if err != nil {
			return err
		}
		if rep.Claimed == 0 {
			return p.sweep.Drain(ctx)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}
