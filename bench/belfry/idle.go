package belfry

import (
	"context"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/internal/contender"
	"github.com/belfry-go/belfry/notify"
)

// idle polls a store that holds nothing, with all the passes there are.
func idle(ctx context.Context, run *contender.Run, t contender.Task) (contender.Result, error) {
	store, err := open(ctx, t)
	if err != nil {
		return contender.Result{}, err
	}
	defer store.Close()
	out := notify.New(store, nil)
	s := automation.New(store, out, nil)
	p := belfry.NewPoller(store, options(t), s, out)
	began, err := poll(ctx, run, p)
	if err != nil {
		return contender.Result{}, err
	}
	result := contender.Between(0, began, contender.Clock.Now())
	result.Values = map[string]float64{"passes": float64(len(s.Passes()) + len(out.Passes()))}
	return result, nil
}
