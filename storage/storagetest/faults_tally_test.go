package storagetest

import (
	"context"
	"math"
	"slices"

	"github.com/belfry-go/belfry/storage"
)

// tallied is a store that counts something else than it was asked for.
func tallied(change func(scope *storage.Scope, q *storage.Tally)) func(context.Context, storage.Tx, *storage.Schema, storage.Scope, storage.Tally) ([]storage.Group, error) {
	return func(ctx context.Context, tx storage.Tx, s *storage.Schema, scope storage.Scope, q storage.Tally) ([]storage.Group, error) {
		q.By = slices.Clone(q.By)
		change(&scope, &q)
		return tx.Tally(ctx, s, scope, q)
	}
}

var tallyFaults = []fault{
	{name: "a tally has no limit", theme: "tally", tally: tallied(func(_ *storage.Scope, q *storage.Tally) { q.Limit = math.MaxInt })},
	{name: "a tally is in any order", theme: "tally", tally: tallied(func(_ *storage.Scope, q *storage.Tally) { q.OrderBy = "id" })},
	{name: "a tally ignores conditions", theme: "tally", tally: tallied(func(_ *storage.Scope, q *storage.Tally) { q.Where = nil })},
	{name: "a tally ignores the scope", theme: "tally", tally: tallied(func(scope *storage.Scope, _ *storage.Tally) { *scope = storage.AnyScope })},
	{name: "a tally knows one kind", theme: "tally", tally: tallied(func(_ *storage.Scope, q *storage.Tally) { q.By = q.By[:min(1, len(q.By))] })},
}
