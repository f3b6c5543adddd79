package backlog

import (
	"context"
	"time"

	"github.com/belfry-go/belfry/health"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// Coming counts the rows of a scope that fall due behind a moment and not after another, by
// kind and moment: of each lane the first Limit, over all scopes. more says that it did not
// come to their end. where leaves out others.
func Coming(ctx context.Context, from driver.Reader, scope storage.Scope, s *driver.Schema, after, until time.Time, where ...driver.Cond) (out []health.Due, more bool, err error) {
	if err := s.CheckScope(scope); err != nil {
		return nil, false, err
	}
	lanes, more, err := LanesOf(ctx, from, s)
	if err != nil {
		return nil, false, err
	}
	for _, lane := range lanes {
		got, err := from.CountBy(ctx, s, driver.Everywhere(), driver.CountBy{
			By:      []string{"scope", "kind", "due_on"},
			Where:   append([]driver.Cond{driver.Eq("lane", int64(lane)), driver.Greater("due_on", after), driver.AtMost("due_on", until)}, where...),
			OrderBy: "due_on", Limit: Limit,
		})
		if err != nil {
			return nil, false, err
		}
		n := 0
		for _, g := range got {
			rec := driver.DueOf(g.Row)
			if n += g.N; rec.Scope == scope {
				out = append(out, health.Due{Table: s.Name, Kind: rec.Kind, Rows: g.N, OldestOn: rec.DueOn})
			}
		}
		more = more || n >= Limit
	}
	return out, more, nil
}
