package storagetest

import (
	"context"
	"math"
	"slices"

	"github.com/belfry-go/belfry/storage/driver"
)

// tallied is a store that counts something else than it was asked for.
func tallied(change func(reach *driver.Reach, q *driver.Tally)) func(context.Context, driver.Tx, *driver.Schema, driver.Reach, driver.Tally) ([]driver.Group, error) {
	return func(ctx context.Context, tx driver.Tx, s *driver.Schema, reach driver.Reach, q driver.Tally) ([]driver.Group, error) {
		q.By = slices.Clone(q.By)
		change(&reach, &q)
		return tx.Tally(ctx, s, reach, q)
	}
}

var tallyFaults = []fault{
	{name: "a tally has no limit", theme: "tally", tally: tallied(func(_ *driver.Reach, q *driver.Tally) { q.Limit = math.MaxInt })},
	{name: "a tally is in any order", theme: "tally", tally: tallied(func(_ *driver.Reach, q *driver.Tally) { q.OrderBy = "id" })},
	{name: "a tally ignores conditions", theme: "tally", tally: tallied(func(_ *driver.Reach, q *driver.Tally) { q.Where = nil })},
	{name: "a tally ignores the scope", theme: "tally", tally: tallied(func(reach *driver.Reach, _ *driver.Tally) { *reach = driver.Everywhere() })},
	{name: "a tally knows one kind", theme: "tally", tally: tallied(func(_ *driver.Reach, q *driver.Tally) { q.By = q.By[:min(1, len(q.By))] })},
}
