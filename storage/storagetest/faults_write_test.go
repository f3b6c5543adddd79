package storagetest

import (
	"context"
	"math"
	"time"

	"github.com/belfry-go/belfry/storage/driver"
)

// stored loads the row with the id of r.
func stored(ctx context.Context, tx driver.Tx, s *driver.Schema, r driver.Row) *driver.Record {
	rows, err := tx.Select(ctx, s, driver.Everywhere(), driver.Query{
		Where: []driver.Cond{driver.Eq("id", driver.RecordOf(r).ID)}, Limit: 1,
	})
	if err != nil || len(rows) == 0 {
		return &driver.Record{}
	}
	return driver.RecordOf(rows[0])
}

// wholeOf is the schema of the whole table.
func wholeOf(s *driver.Schema) *driver.Schema {
	if s.Whole != nil {
		return s.Whole
	}
	return s
}

// each runs a verb row by row.
func each(rows []driver.Row, verb func([]driver.Row) ([]bool, error)) ([]bool, error) {
	out := make([]bool, len(rows))
	for i := range rows {
		one, err := verb(rows[i : i+1])
		if err != nil {
			return nil, err
		}
		out[i] = one[0]
	}
	return out, nil
}

var writeFaults = []fault{
	{name: "settle writes what was planned", theme: "planned",
		update: func(ctx context.Context, tx driver.Tx, s *driver.Schema, rows []driver.Row) ([]bool, error) {
			return tx.Update(ctx, wholeOf(s), rows)
		}},
	{name: "insert overwrites", theme: "insert",
		insert: func(ctx context.Context, tx driver.Tx, s *driver.Schema, rows []driver.Row) ([]bool, error) {
			inserted, err := tx.Insert(ctx, s, rows)
			for i, r := range rows {
				if err != nil || inserted[i] {
					continue
				}
				rec := driver.RecordOf(r)
				there, err := tx.Select(ctx, s, driver.Within(rec.Scope), driver.Query{Where: []driver.Cond{driver.Eq("key", rec.Key)}, Limit: 1})
				if err != nil {
					return nil, err
				}
				rec.ID, rec.Version = driver.RecordOf(there[0]).ID, driver.RecordOf(there[0]).Version
				if _, err := tx.Update(ctx, s, rows[i:i+1]); err != nil {
					return nil, err
				}
			}
			return inserted, err
		}},
	{name: "insert says that all are new", theme: "insert",
		insert: func(ctx context.Context, tx driver.Tx, s *driver.Schema, rows []driver.Row) ([]bool, error) {
			inserted, err := tx.Insert(ctx, s, rows)
			for i := range inserted {
				inserted[i] = true
			}
			return inserted, err
		}},
	{name: "insert tells no id", theme: "insert",
		insert: func(ctx context.Context, tx driver.Tx, s *driver.Schema, rows []driver.Row) ([]bool, error) {
			inserted, err := tx.Insert(ctx, s, rows)
			for _, r := range rows {
				driver.RecordOf(r).ID = 0
			}
			return inserted, err
		}},
	{name: "update ignores the version", theme: "save",
		update: func(ctx context.Context, tx driver.Tx, s *driver.Schema, rows []driver.Row) ([]bool, error) {
			for _, r := range rows {
				driver.RecordOf(r).Version = stored(ctx, tx, s, r).Version
			}
			return tx.Update(ctx, s, rows)
		}},
	{name: "update without a fence", theme: "take-over",
		update: func(ctx context.Context, tx driver.Tx, s *driver.Schema, rows []driver.Row) ([]bool, error) {
			for _, r := range rows {
				driver.RecordOf(r).Version = stored(ctx, tx, s, r).Version
			}
			return tx.Update(ctx, s, rows)
		}},
	{name: "update writes a row twice", theme: "save",
		update: func(ctx context.Context, tx driver.Tx, s *driver.Schema, rows []driver.Row) ([]bool, error) {
			return each(rows, func(one []driver.Row) ([]bool, error) { return tx.Update(ctx, s, one) })
		}},
	{name: "update leaves the version in the row", theme: "save",
		update: func(ctx context.Context, tx driver.Tx, s *driver.Schema, rows []driver.Row) ([]bool, error) {
			stale, err := tx.Update(ctx, s, rows)
			for i, r := range rows {
				if err == nil && !stale[i] {
					driver.RecordOf(r).Version--
				}
			}
			return stale, err
		}},
	{name: "update gives up at the first stale row", theme: "save",
		update: func(ctx context.Context, tx driver.Tx, s *driver.Schema, rows []driver.Row) ([]bool, error) {
			lost := false
			return each(rows, func(one []driver.Row) ([]bool, error) {
				if lost {
					return []bool{true}, nil
				}
				stale, err := tx.Update(ctx, s, one)
				lost = err == nil && stale[0]
				return stale, err
			})
		}},
	{name: "extend bumps the version", theme: "extend",
		extend: func(ctx context.Context, tx driver.Tx, s *driver.Schema, rows []driver.Row, until time.Time) ([]bool, error) {
			lost, err := tx.Extend(ctx, s, rows, until)
			if err != nil {
				return nil, err
			}
			for i, r := range rows {
				there, err := tx.Select(ctx, s, driver.Everywhere(), driver.Query{Where: []driver.Cond{driver.Eq("id", driver.RecordOf(r).ID)}, Limit: 1})
				if err != nil || lost[i] {
					continue
				}
				if _, err := tx.Update(ctx, s, there); err != nil {
					return nil, err
				}
			}
			return lost, nil
		}},
	{name: "extend ignores the token", theme: "extend",
		extend: func(ctx context.Context, tx driver.Tx, s *driver.Schema, rows []driver.Row, until time.Time) ([]bool, error) {
			for _, r := range rows {
				driver.RecordOf(r).ClaimToken = stored(ctx, tx, s, r).ClaimToken
			}
			return tx.Extend(ctx, s, rows, until)
		}},
	{name: "extend is guarded by the version", theme: "extend",
		extend: func(ctx context.Context, tx driver.Tx, s *driver.Schema, rows []driver.Row, until time.Time) ([]bool, error) {
			return each(rows, func(one []driver.Row) ([]bool, error) {
				if stored(ctx, tx, s, one[0]).Version != driver.RecordOf(one[0]).Version {
					return []bool{true}, nil
				}
				return tx.Extend(ctx, s, one, until)
			})
		}},
	{name: "extend gives a lease to a settled row", theme: "extend",
		extend: func(ctx context.Context, tx driver.Tx, s *driver.Schema, rows []driver.Row, until time.Time) ([]bool, error) {
			return each(rows, func(one []driver.Row) ([]bool, error) {
				there := stored(ctx, tx, s, one[0])
				rec := driver.RecordOf(one[0])
				if there.ClaimToken != rec.ClaimToken || !there.LeaseExpiresOn.IsZero() {
					return tx.Extend(ctx, s, one, until)
				}
				rec.LeaseExpiresOn, rec.Version = until, there.Version
				return tx.Update(ctx, s, one)
			})
		}},
	{name: "delete ignores the version", theme: "delete",
		remove: func(ctx context.Context, tx driver.Tx, s *driver.Schema, rows []driver.Row) ([]bool, error) {
			for _, r := range rows {
				driver.RecordOf(r).Version = stored(ctx, tx, s, r).Version
			}
			return tx.Delete(ctx, s, rows)
		}},
	{name: "delete deletes nothing", theme: "delete",
		remove: func(_ context.Context, _ driver.Tx, _ *driver.Schema, rows []driver.Row) ([]bool, error) {
			return make([]bool, len(rows)), nil
		}},
	{name: "count has no limit", theme: "count",
		count: func(ctx context.Context, tx driver.Tx, s *driver.Schema, reach driver.Reach, where []driver.Cond, _ int) (int, error) {
			return tx.Count(ctx, s, reach, where, math.MaxInt)
		}},
	{name: "count ignores conditions", theme: "count",
		count: func(ctx context.Context, tx driver.Tx, s *driver.Schema, reach driver.Reach, _ []driver.Cond, limit int) (int, error) {
			return tx.Count(ctx, s, reach, nil, limit)
		}},
}
