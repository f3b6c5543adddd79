package notify

import (
	"context"
	"slices"

	"github.com/belfry-go/belfry/storage"
)

// pauseGate gives back what was claimed before somebody paused it: it is claimed
// again when the pause is over.
type pauseGate struct{ store storage.Store }

func (pauseGate) name() string { return "pauses" }

func (g pauseGate) Ask(ctx context.Context, a []Attempt) ([]Verdict, error) {
	var paused []Extent
	err := g.store.InTx(ctx, func(tx storage.Tx) (err error) {
		paused, err = pausedIn(ctx, tx)
		return err
	})
	if err != nil {
		return nil, err
	}
	out := make([]Verdict, len(a))
	for i := range a {
		if slices.ContainsFunc(paused, func(e Extent) bool { return e.covers(&a[i]) }) {
			out[i] = Defer(a[i].Now, ReasonPaused)
		}
	}
	return out, nil
}
