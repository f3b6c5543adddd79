package sweep

import (
	"context"
	"errors"
	"log/slog"

	"golang.org/x/sync/errgroup"

	"github.com/belfry-go/belfry/internal/loglimit"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// Options are those of a [Sweep].
type Options struct {
	Chosen, Defaults Keeps // what a host chose, and what holds in new databases
	Hooks            Hooks
	Logger           *slog.Logger // nil: slog.Default()
}

// Sweep goes by the rules of all domains, in one poller. Any number of pollers may work on
// one database.
type Sweep struct {
	People      *Eraser
	old, silent *retention
}

// New makes a sweep over the rules of domains, and those of what all of them share.
func New(store storage.Store, o Options, domains []Rules) *Sweep {
	o.Logger = loglimit.Limited(o.Logger)
	var old []Rule
	for _, d := range domains {
		old = append(old, d.Old...)
	}
	old = append(old, sharedRules()...)
	s := &Sweep{People: newEraser(store, o, domains), old: newRetention(store, o, old, false), silent: newRetention(store, o, old, true)}
	s.silent.prepare = s.old.makeRows // of both
	return s
}

// Poll goes on with the erasures of people until none is due, and takes a page of each
// table that is, of which it reports.
func (s *Sweep) Poll(ctx context.Context) (work.Report, error) {
	err := s.People.Drain(ctx)
	old, failed := s.old.Poll(ctx)
	silent, failedToo := s.silent.Poll(ctx)
	return old.Add(silent), errors.Join(err, failed, failedToo)
}

// Drain goes on for as long as there is something to do now.
func (s *Sweep) Drain(ctx context.Context) error {
	return errors.Join(s.People.Drain(ctx), s.old.Drain(ctx), s.silent.Drain(ctx))
}

// Run goes on until ctx ends. A hook of the host's that hangs holds up erasures alone, and
// an archive that does what is announced.
func (s *Sweep) Run(ctx context.Context) error {
	var g errgroup.Group
	for _, run := range []func(context.Context) error{s.People.Run, s.old.Run, s.silent.Run} {
		g.Go(func() error { return run(ctx) })
	}
	return g.Wait()
}

// Schemas lists the tables of this package.
func Schemas() []*driver.Schema { return []*driver.Schema{&walks.Schema, &requests.Schema} }
