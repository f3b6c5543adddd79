package storagetest

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/belfry-go/belfry/storage/driver"
)

// faults break one important sentence of the contract each; the theme must notice it.
var faults = []fault{
	{name: "claims are not exclusive", theme: "claim", claim: leasesEnd(func(c driver.Claim) time.Time { return c.Now })},
	{name: "leases never expire", theme: "take-over", claim: leasesEnd(func(c driver.Claim) time.Time { return c.Now.Add(time.Hour) })},
	{name: "the rows of a claim come in any order", theme: "lanes",
		claim: func(ctx context.Context, tx driver.Tx, s *driver.Schema, c driver.Claim) ([]driver.Row, error) {
			rows, err := tx.Claim(ctx, s, c)
			slices.Reverse(rows)
			return rows, err
		}},
	{name: "a transaction whose reply was lost runs again", theme: "exclusion",
		inTx: func(ctx context.Context, s *faulty, f func(driver.Tx) error) error {
			if err := s.Store.InTx(ctx, f); err != nil {
				return err
			}
			return s.Store.InTx(ctx, f)
		}},
	{name: "an update ignores the version", theme: "save",
		update: func(ctx context.Context, tx driver.Tx, s *driver.Schema, rows []driver.Row) ([]bool, error) {
			for _, r := range rows {
				driver.RecordOf(r).Version = stored(ctx, tx, s, r).Version
			}
			return tx.Update(ctx, s, rows)
		}},
	{name: "a heartbeat extends the lease of another worker", theme: "extend",
		extend: func(ctx context.Context, tx driver.Tx, s *driver.Schema, rows []driver.Row, until time.Time) ([]bool, error) {
			for _, r := range rows {
				driver.DueOf(r).ClaimToken = stored(ctx, tx, s, r).ClaimToken
			}
			return tx.Extend(ctx, s, rows, until)
		}},
	{name: "a taken key is reported as inserted", theme: "insert",
		insert: func(ctx context.Context, tx driver.Tx, s *driver.Schema, rows []driver.Row) ([]bool, error) {
			inserted, err := tx.Insert(ctx, s, rows)
			for i := range inserted {
				inserted[i] = true
			}
			return inserted, err
		}},
	{name: "an error commits", theme: "transactions", inTx: commits},
	{name: "others see what is rolled back", theme: "isolation", inTx: commits},
	{name: "a tenant reads the rows of all", theme: "scopes",
		find: func(ctx context.Context, tx driver.Tx, s *driver.Schema, _ driver.ScopeFilter, q driver.Query) ([]driver.Row, error) {
			return tx.Select(ctx, s, driver.Everywhere(), q)
		}},
	{name: "a page skips rows that tie with its last", theme: "paging",
		find: func(ctx context.Context, tx driver.Tx, s *driver.Schema, reach driver.ScopeFilter, q driver.Query) ([]driver.Row, error) {
			if q.After != nil && q.OrderBy != "" {
				q.After = &driver.Position{Value: q.After.Value, ID: 1 << 60}
			}
			return tx.Select(ctx, s, reach, q)
		}},
	{name: "text is trimmed", theme: "text",
		find: func(ctx context.Context, tx driver.Tx, s *driver.Schema, reach driver.ScopeFilter, q driver.Query) ([]driver.Row, error) {
			rows, err := tx.Select(ctx, s, reach, q)
			for _, r := range rows {
				if r, ok := r.(*thing); ok {
					r.Name = strings.TrimSpace(r.Name)
				}
			}
			return rows, err
		}},
	{name: "a long sequence of verbs loses a version", theme: "model",
		find: func(ctx context.Context, tx driver.Tx, s *driver.Schema, reach driver.ScopeFilter, q driver.Query) ([]driver.Row, error) {
			rows, err := tx.Select(ctx, s, reach, q)
			for _, r := range rows {
				if rec := driver.RecordOf(r); rec.Version > 3 {
					rec.Version--
				}
			}
			return rows, err
		}},
	{name: "a blob loses its last part", theme: "blobs",
		insert: func(ctx context.Context, tx driver.Tx, s *driver.Schema, rows []driver.Row) ([]bool, error) {
			if s.Name == "blob_chunk" && driver.RecordOf(rows[0]).Key[33:] == "00000001" {
				return []bool{true}, nil
			}
			return tx.Insert(ctx, s, rows)
		}},
	{name: "an undeclared inability", theme: "insert"},
}

// commits is a store that commits whatever its function returns.
func commits(ctx context.Context, s *faulty, f func(driver.Tx) error) (err error) {
	committed := s.Store.InTx(ctx, func(tx driver.Tx) error {
		err = f(tx)
		return nil
	})
	if err == nil {
		err = committed
	}
	return err
}

// leasesEnd is a store that moves the end of all leases before it claims.
func leasesEnd(until func(c driver.Claim) time.Time) claimFunc {
	return func(ctx context.Context, tx driver.Tx, s *driver.Schema, c driver.Claim) ([]driver.Row, error) {
		rows, err := tx.Select(ctx, s, driver.Everywhere(), driver.Query{
			Where: []driver.Cond{driver.NotNull("lease_expires_on")}, Limit: 1000,
		})
		if err != nil {
			return nil, err
		}
		if _, err := tx.Extend(ctx, s, rows, until(c)); err != nil {
			return nil, err
		}
		return tx.Claim(ctx, s, c)
	}
}

// stored loads the row with the id of r.
func stored(ctx context.Context, tx driver.Tx, s *driver.Schema, r driver.Row) *driver.Due {
	rows, err := tx.Select(ctx, s, driver.Everywhere(), driver.Query{
		Where: []driver.Cond{driver.Eq("id", driver.RecordOf(r).ID)}, Limit: 1,
	})
	if err != nil || len(rows) == 0 {
		return &driver.Due{}
	}
	return driver.DueOf(rows[0])
}
