package storagetest

import (
	"context"

	"github.com/belfry-go/belfry/storage"
)

// printsOf gives the fingerprints of all rows of scope that where describes.
func printsOf(ctx context.Context, tx storage.Tx, s *storage.Schema, scope storage.Scope, where ...storage.Cond) (prints []int64, err error) {
	rows, err := tx.Select(ctx, s, scope, storage.Query{Where: where, Limit: 1000})
	for _, r := range rows {
		prints = append(prints, s.Column(s.Fingerprint).Int(storage.FieldsOf(r)))
	}
	return prints, err
}

var untouchedFaults = []fault{
	{name: "written rows count as untouched", theme: "untouched",
		untouched: func(ctx context.Context, tx storage.Tx, s *storage.Schema, scope storage.Scope, keys []string) ([]int64, error) {
			return printsOf(ctx, tx, s, scope, storage.In("key", keys))
		}},
	{name: "claimed rows count as untouched", theme: "untouched",
		untouched: func(ctx context.Context, tx storage.Tx, s *storage.Schema, scope storage.Scope, keys []string) ([]int64, error) {
			return printsOf(ctx, tx, s, scope, storage.In("key", keys), storage.AtMost("version", 2), storage.Any(storage.Eq("version", 1), storage.NotNull("lease_expires_on")))
		}},
	{name: "no row is untouched", theme: "untouched",
		untouched: func(context.Context, storage.Tx, *storage.Schema, storage.Scope, []string) ([]int64, error) {
			return nil, nil
		}},
	{name: "untouched rows of every scope", theme: "untouched",
		untouched: func(ctx context.Context, tx storage.Tx, s *storage.Schema, _ storage.Scope, keys []string) ([]int64, error) {
			return printsOf(ctx, tx, s, storage.AnyScope, storage.In("key", keys), storage.Eq("version", 1))
		}},
}
