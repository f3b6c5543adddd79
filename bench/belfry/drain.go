package belfry

import (
	"context"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/internal/contender"
)

// drain handles rows until it is told to stop, and ends when all that it has
// handled is settled.
func drain(ctx context.Context, run *contender.Run, t contender.Task) (contender.Result, error) {
	store, err := open(ctx, t)
	if err != nil {
		return contender.Result{}, err
	}
	defer store.Close()
	s := scheduler(store, func(_ context.Context, due []automation.Due) ([]automation.Outcome, error) {
		run.Done(len(due))
		return make([]automation.Outcome, len(due)), nil
	})
	claims, o := &meter{instrument: "belfry.claim.duration"}, options(t)
	o.MeterProvider = claims
	p := belfry.NewPoller(store, o, s)
	began, err := poll(ctx, run, p)
	if err != nil {
		return contender.Result{}, err
	}
	result := contender.Between(0, began, contender.Clock.Now())
	result.Values = map[string]float64{"claim_p50_ms": claims.quantile(0.5) * 1000, "claim_p99_ms": claims.quantile(0.99) * 1000}
	return result, nil
}
