package sweep

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/belfry-go/belfry/internal/hush"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

const (
	look  = time.Minute      // how often a poller asks whether an erasure is due
	again = 15 * time.Minute // how soon one is tried again that failed
)

// pass is the part of a service in the erasures of a poller; see [PartOf].
type pass struct{ part Part }

// Pass is the part of a service, among its passes. By itself it does nothing: a poller
// that knows all parts does it.
func Pass(p Part) work.Pass { return pass{p} }

func (p pass) Name() string { return p.part.Name + ".erasure" }

func (p pass) Runner(work.Options) work.Runner { return idle{} }

// PartOf is the part that a pass stands for; false if it is another one.
func PartOf(p work.Pass) (Part, bool) {
	of, ok := p.(pass)
	return of.part, ok
}

// idle is the runner of a part alone.
type idle struct{}

func (idle) Poll(context.Context, int) (work.Report, error) { return work.Report{}, nil }
func (idle) Run(ctx context.Context) error                  { <-ctx.Done(); return ctx.Err() }
func (idle) Pulse() []work.Pulse                            { return nil }

// Runner goes on with erasures in one poller. Any number of pollers may: a page is written
// in one transaction with the place that it was read from.
type Runner struct {
	*Eraser
	logger *slog.Logger
	lookOn atomic.Pointer[time.Time] // it asks for nothing before
}

// NewRunner makes the pass of a poller.
func NewRunner(e *Eraser, logger *slog.Logger) *Runner {
	return &Runner{Eraser: e, logger: cmp.Or(logger, slog.Default())}
}

// overtaken reports whether somebody else has gone on with an erasure.
func overtaken(err error) bool { return errors.Is(err, storage.ErrStale) }

// Poll goes on with the erasures that are due until none is, and tells how many steps
// that took. It asks once a minute.
func (r *Runner) Poll(ctx context.Context) (steps int, err error) {
	now := r.store.Clock().Now()
	if on := r.lookOn.Load(); on != nil && now.Before(*on) {
		return 0, nil
	}
	for {
		due, err := r.due(ctx)
		if err != nil {
			return steps, err
		}
		n, err := r.advance(ctx, due)
		if steps += n; n == 0 || err != nil {
			next := now.Add(look)
			r.lookOn.Store(&next)
			return steps, err
		}
	}
}

// advance takes one step with each erasure that this process can go on with.
func (r *Runner) advance(ctx context.Context, due []*request) (steps int, err error) {
	var errs []error
	for _, d := range due {
		if !r.mine(d) {
			continue
		}
		switch err := r.step(ctx, d); {
		case err == nil:
			steps++
		case overtaken(err):
		default:
			r.postpone(ctx, d)
			errs = append(errs, err)
		}
	}
	return steps, errors.Join(errs...)
}

// due are erasures to go on with, the longest waiting first.
func (r *Runner) due(ctx context.Context) (out []*request, err error) {
	err = r.store.View(ctx, func(from driver.Reader) (err error) {
		out, err = requests.Everywhere().Find(ctx, from, driver.Query{
			Where: []driver.Cond{driver.Eq("lane", storage.LaneNormal), driver.AtMost("due_on", driver.Now(r.store))}, OrderBy: "due_on", Limit: 100,
		})
		return err
	})
	return out, err
}

// postpone tries a step that failed later, if the database lets it.
func (r *Runner) postpone(ctx context.Context, d *request) {
	later := *d
	later.DueOn = driver.Now(r.store).Add(again)
	_ = r.store.InTx(ctx, func(tx storage.Tx) error {
		row := later
		return requests.Save(ctx, tx, &row)
	})
}

// Run looks once a minute.
func (r *Runner) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-r.store.Clock().After(look):
		}
		if _, err := r.Poll(ctx); err != nil && ctx.Err() == nil {
			hush.Warn(ctx, r.logger, "belfry: an erasure failed, and is tried again", "error", err)
		}
	}
}
