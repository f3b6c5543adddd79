package unserved

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// Pass sweeps tables from time to time, beside the passes that claim their rows. After is
// how long a row, and its kind, go unserved until something is done about it.
type Pass struct {
	Title  string
	Store  storage.Store
	After  time.Duration
	Logger *slog.Logger
	Tables []Watched
}

// Name is that of the pass in logs.
func (p Pass) Name() string { return p.Title }

// Sweep looks at one table after another. Any number of processes may do it at once.
func (p Pass) Sweep(ctx context.Context) error {
	for _, t := range p.Tables {
		if err := t.sweep(ctx, p.Store, looking{driver.Now(p.Store), p.After}); err != nil {
			return err
		}
	}
	return nil
}

// Runner sweeps in one poller.
func (p Pass) Runner(work.Options) work.Runner { return &runner{Pass: p} }

type runner struct {
	Pass

	sweeping sync.Mutex // held by the one who sweeps
	sweptOn  time.Time
}

// every is often enough to distinguish a served kind from an unserved one.
func (r *runner) every() time.Duration { return r.After / 4 }

// Liveness is none: nothing waits for a sweep.
func (r *runner) Liveness() []work.Liveness { return nil }

// Poll sweeps if it is time and no other process does. It claims nothing, and a sweep
// that fails stops no poll: the next one sweeps.
func (r *runner) Poll(ctx context.Context, _ int) (work.Report, error) {
	if !r.sweeping.TryLock() {
		return work.Report{}, nil
	}
	defer r.sweeping.Unlock()
	now := driver.Now(r.Store)
	if !r.sweptOn.IsZero() && now.Sub(r.sweptOn) < r.every() {
		return work.Report{}, nil
	}
	if r.sweep(ctx) {
		r.sweptOn = now
	}
	return work.Report{}, nil
}

// Run sweeps until ctx ends.
func (r *runner) Run(ctx context.Context) error {
	for {
		r.sweep(ctx)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-r.Store.Clock().After(r.every()):
		}
	}
}

func (r *runner) sweep(ctx context.Context) bool {
	err := r.Sweep(ctx)
	if err != nil && ctx.Err() == nil {
		r.Logger.WarnContext(ctx, "belfry: unserved rows could not be searched", "pass", r.Title, "error", err)
	}
	return err == nil
}
