package work

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Prepared is p with something to be done once in each poller before the first
// claim: rows that the pass works on have to exist. prepare may be called again
// until it succeeds, and from several processes at once.
func Prepared(p Pass, prepare func(ctx context.Context) error) Pass {
	return prepared{p, prepare}
}

type prepared struct {
	Pass
	prepare func(ctx context.Context) error
}

func (p prepared) Runner(o Options) Runner {
	return &preparedRunner{inner: p.Pass.Runner(o), prepare: p.prepare, name: p.Name(), o: o.withDefaults()}
}

type preparedRunner struct {
	inner   Runner
	prepare func(ctx context.Context) error
	name    string
	o       Options

	mu   sync.Mutex
	done bool
}

func (r *preparedRunner) once(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.done {
		return nil
	}
	err := r.prepare(ctx)
	r.done = err == nil
	return err
}

func (r *preparedRunner) Poll(ctx context.Context, batch int) (Report, error) {
	if err := r.once(ctx); err != nil {
		return Report{}, err
	}
	return r.inner.Poll(ctx, batch)
}

// Run does not end because the database is away when it begins.
func (r *preparedRunner) Run(ctx context.Context) error {
	for {
		err := r.once(ctx)
		if err == nil {
			return r.inner.Run(ctx)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		r.o.Logger.WarnContext(ctx, "belfry: a pass could not be prepared", slog.String("pass", r.name), slog.Any("error", err))
		if !sleepFor(ctx, time.Second) {
			return ctx.Err()
		}
	}
}

// sleepFor waits in real time, and reports whether it came to the end.
func sleepFor(ctx context.Context, d time.Duration) bool {
	t := realClock.Timer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
