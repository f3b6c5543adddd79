package storagetest

import (
	"context"

	"github.com/belfry-go/belfry/storage/driver"
)

// printsOf gives the fingerprints of all rows within reach that where describes.
func printsOf(ctx context.Context, tx driver.Tx, s *driver.Schema, reach driver.Reach, where ...driver.Cond) (prints []int64, err error) {
	rows, err := tx.Select(ctx, s, reach, driver.Query{Where: where, Limit: 1000})
	for _, r := range rows {
		prints = append(prints, s.Column(s.Fingerprint).Int(driver.FieldsOf(r)))
	}
	return prints, err
}

var untouchedFaults = []fault{
	{name: "written rows count as untouched", theme: "untouched",
		untouched: func(ctx context.Context, tx driver.Tx, s *driver.Schema, scope driver.Scope, keys []string) ([]int64, error) {
			return printsOf(ctx, tx, s, driver.Within(scope), driver.In("key", keys))
		}},
	{name: "claimed rows count as untouched", theme: "untouched",
		untouched: func(ctx context.Context, tx driver.Tx, s *driver.Schema, scope driver.Scope, keys []string) ([]int64, error) {
			return printsOf(ctx, tx, s, driver.Within(scope), driver.In("key", keys), driver.AtMost("version", 2), driver.Any(driver.Eq("version", 1), driver.NotNull("lease_expires_on")))
		}},
	{name: "no row is untouched", theme: "untouched",
		untouched: func(context.Context, driver.Tx, *driver.Schema, driver.Scope, []string) ([]int64, error) {
			return nil, nil
		}},
	{name: "untouched rows of every scope", theme: "untouched",
		untouched: func(ctx context.Context, tx driver.Tx, s *driver.Schema, _ driver.Scope, keys []string) ([]int64, error) {
			return printsOf(ctx, tx, s, driver.Everywhere(), driver.In("key", keys), driver.Eq("version", 1))
		}},
}
