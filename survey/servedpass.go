package survey

import (
	"context"
	"sync"
	"time"

	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/storage"
)

// servedPass sweeps from time to time beside the pass.
type servedPass struct {
	work.Pass
	s *Service
}

func (p servedPass) Runner(o work.Options) work.Runner {
	return &servedRunner{Runner: p.Pass.Runner(o), s: p.s}
}

type servedRunner struct {
	work.Runner
	s *Service

	sweeping sync.Mutex // held by the one who sweeps
	sweptOn  time.Time
}

// sweepEvery is often enough for a channel to be told from one that nobody has.
func (s *Service) sweepEvery() time.Duration { return s.options.UnclaimedAfter / 4 }

// Poll sweeps first if it is time. A sweep that fails does not stop the pass.
func (r *servedRunner) Poll(ctx context.Context, batch int) (work.Report, error) {
	r.sweepInTime(ctx)
	return r.Runner.Poll(ctx, batch)
}

// sweepInTime sweeps unless somebody else does: a poll waits for no sweep but its own.
func (r *servedRunner) sweepInTime(ctx context.Context) {
	if !r.sweeping.TryLock() {
		return
	}
	defer r.sweeping.Unlock()
	now := storage.Now(r.s.store)
	if !r.sweptOn.IsZero() && now.Sub(r.sweptOn) < r.s.sweepEvery() {
		return
	}
	if r.sweep(ctx) {
		r.sweptOn = now
	}
}

// Run sweeps beside the pass.
func (r *servedRunner) Run(ctx context.Context) error {
	swept := make(chan struct{})
	go func() {
		defer close(swept)
		r.sweepUntil(ctx)
	}()
	defer func() { <-swept }()
	return r.Runner.Run(ctx)
}

func (r *servedRunner) sweepUntil(ctx context.Context) {
	tick := r.s.store.Clock().Ticker(r.s.sweepEvery())
	defer tick.Stop()
	for {
		r.sweep(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (r *servedRunner) sweep(ctx context.Context) bool {
	err := r.s.sweep(ctx)
	if err != nil && ctx.Err() == nil {
		r.s.options.Logger.WarnContext(ctx, "belfry: sends that nobody serves could not be looked for", "pass", "survey.send", "error", err)
	}
	return err == nil
}
