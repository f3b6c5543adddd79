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
	// SweepRules say what is deleted with its age, and of people, in its tables.
	SweepRules() []sweep.Rules
	// Wiring says what the service works on, and what it hands work to.
	Wiring() wiring.Service
	// Health tells how its work is doing, in one scope or everywhere.
	Health(ctx context.Context, reach storage.ScopeFilter) (health.Summary, error)
}

// Report counts what a poll did; its fields are documented where they are named.
type Report struct {
	// Claimed rows, abandoned ones included. Zero means that nothing that this
	// process serves was due and free.
	Claimed int
	// Abandoned rows were taken over from an expired lease, and settled without
	// running their handler.
	Abandoned int
	// Settled rows had their new state committed.
	Settled int
	// Stale rows were written by somebody else while they were handled (an event
	// deactivated them, say); what was decided for them was dropped.
	Stale int
	// Failed rows could not be handled or stored and were put back with a delay.
	Failed int
	// Released rows were given back unhandled because the context ended.
	Released int
}

// Poller claims due rows for its services and settles them. Any number of
// pollers, in any number of processes, may work on one store; each row is in the
// hands of one of them. Its methods may be called from any number of goroutines.
type Poller struct {
	options  Options // with those defaults that the poller itself needs
	runners  []work.Runner
	sweep    *sweep.Sweep
	services []Service
	store    storage.Store
	runs     atomic.Int32 // calls of Run under way
	alarmed  atomic.Value // the driver.Loss of the last alarm
}

// NewPoller makes a poller over the services, which must be made on store. A Scheduler
// with reminder types or reports needs the Notifier that it was made with beside it, or
// nothing would be sent; in a process that is not to send give that one no channels. Run,
// PollOnce and Drain say what is wrong, before they do anything: a type may be registered
// until then. What a handler of the host's own returns for delivery needs the Notifier as
// well, which nobody can see before.
//
// NewPoller starts nothing. It panics on a nil store or service, as only a programmer can
// cause that.
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

// wired says what is wrong with the services: one is missing that another one needs, or on
// another store.
func (p *Poller) wired() error {
	all := make([]wiring.Service, len(p.services))
	for i, s := range p.services {
		all[i] = s.Wiring()
	}
	if err := wiring.Check(p.store, all); err != nil {
		return fmt.Errorf("belfry: NewPoller: %w", err)
	}
	return nil
}

// Run polls until ctx ends; then it claims nothing more, finishes what runs
// (see Options.Grace), and gives the rest back, within two seconds more even if the
// database hangs. It returns ctx's error, or a
// storage.ErrClosed if the host has closed the store, or its pool, before: then the
// results of what runs are lost, as after a crash. Run goes
// with a real clock: a program that moves a mock clock uses PollOnce or Drain.
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

// within waits for the end of the passes. A driver may wait for a silent network for as
// long as that takes, whatever ctx says: Run waits for it no longer than for handlers.
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

// PollOnce lets each pass claim, handle and settle at most batchSize rows, in
// the order of the services, goes on with the erasures of people that are due, and deletes
// a page of old rows of each table, and of blobs that no row owns, which the Report does
// not count. It returns what was done even when there was an error; a failing pass does not
// stop the others.
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

// Drain polls until no pass here finds a row to claim, or one to delete: for tests,
// demonstrations and endpoints that an external timer calls.
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
