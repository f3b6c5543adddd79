package storagetest

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/belfry-go/belfry/storage/driver"
)

type findFunc = func(context.Context, driver.Tx, *driver.Schema, driver.Reach, driver.Query) ([]driver.Row, error)

// sought is a store that looks for something else than it was asked for.
func sought(change func(reach *driver.Reach, q *driver.Query)) findFunc {
	return func(ctx context.Context, tx driver.Tx, s *driver.Schema, reach driver.Reach, q driver.Query) ([]driver.Row, error) {
		if q.After != nil {
			after := *q.After
			q.After = &after
		}
		change(&reach, &q)
		return tx.Select(ctx, s, reach, q)
	}
}

// read is a store that does not give back what it was given.
func read(change func(r *thing)) findFunc {
	return func(ctx context.Context, tx driver.Tx, s *driver.Schema, reach driver.Reach, q driver.Query) ([]driver.Row, error) {
		rows, err := tx.Select(ctx, s, reach, q)
		for _, r := range rows {
			if r, ok := r.(*thing); ok {
				change(r)
			}
		}
		return rows, err
	}
}

// rewritten replaces conditions, nested ones too.
func rewritten(conds []driver.Cond, change func(driver.Cond) driver.Cond) []driver.Cond {
	out := make([]driver.Cond, len(conds))
	for i, c := range conds {
		c.Conds = rewritten(c.Conds, change)
		out[i] = change(c)
	}
	return out
}

// operator is a store that takes one comparison for another.
func operator(from, to driver.Op) findFunc {
	return sought(func(_ *driver.Reach, q *driver.Query) {
		q.Where = rewritten(q.Where, func(c driver.Cond) driver.Cond {
			if c.Op == from {
				c.Op = to
			}
			return c
		})
	})
}

var readFaults = []fault{
	{name: "select ignores the scope", theme: "scopes",
		find: sought(func(reach *driver.Reach, _ *driver.Query) { *reach = driver.Everywhere() })},
	{name: "select takes everywhere for the empty scope", theme: "scopes",
		find: sought(func(reach *driver.Reach, _ *driver.Query) {
			if *reach == driver.Everywhere() {
				*reach = driver.Within("")
			}
		})},
	{name: "get takes each scope with each key", theme: "scopes",
		get: func(ctx context.Context, tx driver.Tx, s *driver.Schema, places []driver.Place, columns []string) ([]driver.Row, error) {
			crossed := map[driver.Place]bool{}
			for _, a := range places {
				for _, b := range places {
					crossed[driver.Place{Scope: a.Scope, Key: b.Key}] = true
				}
			}
			return tx.Get(ctx, s, slices.Collect(maps.Keys(crossed)), columns)
		}},
	{name: "get reads all columns", theme: "scopes",
		get: func(ctx context.Context, tx driver.Tx, s *driver.Schema, places []driver.Place, _ []string) ([]driver.Row, error) {
			return tx.Get(ctx, s, places, nil)
		}},
	{name: "get takes rows of one scope only", theme: "scopes",
		get: func(ctx context.Context, tx driver.Tx, s *driver.Schema, places []driver.Place, columns []string) ([]driver.Row, error) {
			return tx.Get(ctx, s, slices.DeleteFunc(slices.Clone(places), func(p driver.Place) bool { return p.Scope != places[0].Scope }), columns)
		}},
	{name: "what is behind the first of some keys is all", theme: "count",
		find: sought(func(_ *driver.Reach, q *driver.Query) { q.Under = q.Under[:min(1, len(q.Under))] })},
	{name: "the highest keys behind a key come last", theme: "count",
		find: sought(func(_ *driver.Reach, q *driver.Query) { q.Desc = q.Desc && len(q.Under) == 0 })},
	{name: "less is at most", theme: "conditions", find: operator(driver.OpLess, driver.OpAtMost)},
	{name: "at least is greater", theme: "conditions", find: operator(driver.OpAtLeast, driver.OpGreater)},
	{name: "in nothing is anything", theme: "conditions",
		find: sought(func(_ *driver.Reach, q *driver.Query) {
			q.Where = slices.DeleteFunc(slices.Clone(q.Where), func(c driver.Cond) bool {
				list, ok := c.Value.([]string)
				return ok && len(list) == 0
			})
		})},
	{name: "any is all", theme: "conditions",
		find: sought(func(_ *driver.Reach, q *driver.Query) {
			var flat []driver.Cond
			for _, c := range q.Where {
				if c.Op == driver.OpAny {
					flat = append(flat, c.Conds...)
				} else {
					flat = append(flat, c)
				}
			}
			q.Where = flat
		})},
	{name: "a comparison with NULL is true", theme: "conditions",
		find: sought(func(_ *driver.Reach, q *driver.Query) {
			q.Where = rewritten(q.Where, func(c driver.Cond) driver.Cond {
				if c.Column == "note" && c.Op == driver.OpLess {
					return driver.Any(driver.Null("note"), c)
				}
				return c
			})
		})},
	{name: "a page ignores ties", theme: "paging",
		find: sought(func(_ *driver.Reach, q *driver.Query) {
			if q.After != nil && q.OrderBy != "" {
				q.After.ID = 1 << 60
			}
		})},
	{name: "all columns are read", theme: "paging",
		find: sought(func(_ *driver.Reach, q *driver.Query) { q.Columns = nil })},
	{name: "a page ignores where it begins", theme: "paging",
		find: sought(func(_ *driver.Reach, q *driver.Query) { q.After = nil })},
	{name: "descending ties ascend", theme: "paging",
		find: func(ctx context.Context, tx driver.Tx, s *driver.Schema, reach driver.Reach, q driver.Query) ([]driver.Row, error) {
			rows, err := tx.Select(ctx, s, reach, q)
			if q.Desc && q.OrderBy == "amount" {
				slices.SortFunc(rows, func(a, b driver.Row) int {
					return cmp.Or(cmp.Compare(b.(*thing).Amount, a.(*thing).Amount), cmp.Compare(a.(*thing).ID, b.(*thing).ID))
				})
			}
			return rows, err
		}},
	{name: "NULLs sort last", theme: "paging",
		find: func(ctx context.Context, tx driver.Tx, s *driver.Schema, reach driver.Reach, q driver.Query) ([]driver.Row, error) {
			rows, err := tx.Select(ctx, s, reach, q)
			if q.OrderBy == "note" && !q.Desc {
				slices.SortStableFunc(rows, func(a, b driver.Row) int {
					an, bn := a.(*thing).Note == "", b.(*thing).Note == ""
					if an == bn {
						return 0
					}
					if an {
						return 1
					}
					return -1
				})
			}
			return rows, err
		}},
	{name: "the limit is not the first rows", theme: "paging",
		find: func(ctx context.Context, tx driver.Tx, s *driver.Schema, reach driver.Reach, q driver.Query) ([]driver.Row, error) {
			limit := q.Limit
			q.Limit = 1000
			rows, err := tx.Select(ctx, s, reach, q)
			return rows[max(0, len(rows)-limit):], err
		}},
	{name: "the model is off by a version", theme: "model", find: read(func(r *thing) {
		if r.Version > 3 {
			r.Version--
		}
	})},
}

var valueFaults = []fault{
	{name: "text is trimmed", theme: "text", find: read(func(r *thing) { r.Name = strings.TrimSpace(r.Name) })},
	{name: "keys are folded", theme: "identity", find: read(func(r *thing) { r.Key = strings.ToLower(r.Key) })},
	{name: "empty bytes are NULL", theme: "values", find: read(func(r *thing) {
		if len(r.Seal) == 0 {
			r.Seal = nil
		}
	})},
	{name: "bytes are text", theme: "values", find: read(func(r *thing) { r.Data = []byte(strings.ToValidUTF8(string(r.Data), "?")) })},
	{name: "integers are floats", theme: "values", find: read(func(r *thing) { r.Amount = int64(float64(r.Amount)) })},
	{name: "times are local", theme: "times", find: read(func(r *thing) { r.SeenOn = r.SeenOn.In(time.FixedZone("here", 3600)) })},
	{name: "times are milliseconds", theme: "times", find: read(func(r *thing) { r.DueOn = r.DueOn.Truncate(time.Millisecond) })},
	{name: "a zero time is the year 1", theme: "times", find: read(func(r *thing) {
		if r.SeenOn.Year() == 1 {
			r.SeenOn = time.Time{}
		}
	})},
	{name: "JSON is parsed", theme: "json", find: read(func(r *thing) {
		var v any
		if json.Unmarshal(r.Raw, &v) == nil {
			r.Raw, _ = json.Marshal(v)
		}
	})},
	{name: "a field without a column is kept", theme: "insert", find: read(func(r *thing) { r.Draft = "scribbled" })},
}
