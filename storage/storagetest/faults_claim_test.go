package storagetest

import (
	"context"
	"slices"
	"time"

	"github.com/belfry-go/belfry/storage/driver"
)

type claimFunc = func(context.Context, driver.Tx, *driver.Schema, driver.Claim) ([]driver.Row, error)

// asked is a store that claims something else than it was asked for.
func asked(change func(c *driver.Claim)) claimFunc {
	return func(ctx context.Context, tx driver.Tx, s *driver.Schema, c driver.Claim) ([]driver.Row, error) {
		c.Lanes = slices.Clone(c.Lanes)
		change(&c)
		return tx.Claim(ctx, s, c)
	}
}

// answered is a store that answers something else than it claimed.
func answered(change func(rows []driver.Row)) claimFunc {
	return func(ctx context.Context, tx driver.Tx, s *driver.Schema, c driver.Claim) ([]driver.Row, error) {
		rows, err := tx.Claim(ctx, s, c)
		change(rows)
		return rows, err
	}
}

// leased is a store that moves the leases of the rows for which conds hold
// before it claims.
func leased(until func(c driver.Claim) time.Time, conds func(c driver.Claim) []driver.Cond) claimFunc {
	return func(ctx context.Context, tx driver.Tx, s *driver.Schema, c driver.Claim) ([]driver.Row, error) {
		rows, err := tx.Select(ctx, s, driver.Everywhere(), driver.Query{
			Where: append(conds(c), driver.NotNull("lease_expires_on")), Limit: 1000,
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

var claimFaults = []fault{
	{name: "claim ignores the status", theme: "claim",
		claim: asked(func(c *driver.Claim) { c.Statuses = []string{ready, busy, done, "", "ready"} })},
	{name: "claim ignores types", theme: "claim", claim: asked(func(c *driver.Claim) { c.Kinds = nil })},
	{name: "claim takes no types for all types", theme: "claim", claim: asked(func(c *driver.Claim) {
		if len(c.Kinds) == 0 {
			c.Kinds = nil
		}
	})},
	{name: "claim takes over what is spared", theme: "take-over", claim: asked(func(c *driver.Claim) { c.Expired = time.Time{} })},
	{name: "claim takes rows of any scope", theme: "claim", claim: asked(func(c *driver.Claim) { c.Scopes = nil })},
	{name: "claim takes older rows", theme: "claim", claim: asked(func(c *driver.Claim) { c.NewerThan = 0 })},
	{name: "claim ignores paused scopes", theme: "claim", claim: asked(func(c *driver.Claim) { c.Except = nil })},
	{name: "claim ignores paused types", theme: "claim", claim: asked(func(c *driver.Claim) { c.ExceptKinds = nil })},
	{name: "claim reads what nobody asks for", theme: "planned",
		claim: func(ctx context.Context, tx driver.Tx, s *driver.Schema, c driver.Claim) ([]driver.Row, error) {
			return tx.Claim(ctx, wholeOf(s), c)
		}},
	{name: "claim ignores paused kinds", theme: "claim", claim: asked(func(c *driver.Claim) { c.ExceptNames.Names = nil })},
	{name: "claim ignores kinds paused in one scope", theme: "claim", claim: asked(func(c *driver.Claim) { c.ExceptNames.Scoped = nil })},
	{name: "claim leaves out a paused type everywhere", theme: "claim", claim: asked(func(c *driver.Claim) {
		for _, e := range c.ExceptKinds {
			c.ExceptKinds = append(c.ExceptKinds, driver.ScopedKind{Scope: "2", Kind: e.Kind})
		}
	})},
	{name: "claim never sets the status", theme: "claim", claim: asked(func(c *driver.Claim) { c.Busy = "" })},
	{name: "claim sets no token", theme: "claim", claim: asked(func(c *driver.Claim) { c.Token = "" })},
	{name: "claim takes rows that are due in a moment", theme: "claim",
		claim: asked(func(c *driver.Claim) { c.Now = c.Now.Add(time.Microsecond) })},
	{name: "claim leaves rows that are due now", theme: "claim",
		claim: asked(func(c *driver.Claim) { c.Now = c.Now.Add(-time.Microsecond) })},
	{name: "claim takes held rows", theme: "claim", claim: leased(
		func(c driver.Claim) time.Time { return c.Now },
		func(driver.Claim) []driver.Cond { return nil },
	)},
	{name: "claim ignores a lane's limit", theme: "lanes", claim: asked(func(c *driver.Claim) {
		for i := range c.Lanes {
			c.Lanes[i].Limit += 10
		}
	})},
	{name: "claim ignores the cursor", theme: "lanes", claim: asked(func(c *driver.Claim) {
		for i := range c.Lanes {
			c.Lanes[i].After = driver.Cursor{}
		}
	})},
	{name: "claim ignores the cursor's id", theme: "lanes", claim: asked(func(c *driver.Claim) {
		for i := range c.Lanes {
			c.Lanes[i].After.ID = 0
		}
	})},
	{name: "claim takes lanes in its own order", theme: "lanes", claim: asked(func(c *driver.Claim) {
		slices.SortFunc(c.Lanes, func(a, b driver.LaneClaim) int { return int(a.Lane) - int(b.Lane) })
	})},
	{name: "claim is in the order of the database", theme: "lanes", claim: answered(slices.Reverse[[]driver.Row])},
	{name: "a lease that ends now is not expired", theme: "take-over", claim: leased(
		func(c driver.Claim) time.Time { return c.Now.Add(time.Microsecond) },
		func(c driver.Claim) []driver.Cond { return []driver.Cond{driver.Eq("lease_expires_on", c.Now)} },
	)},
	{name: "a take-over looks at the status", theme: "take-over", claim: leased(
		func(c driver.Claim) time.Time { return c.Now.Add(time.Hour) },
		func(c driver.Claim) []driver.Cond {
			return []driver.Cond{driver.Any(driver.Less("status", c.Busy), driver.Greater("status", c.Busy))}
		},
	)},
	{name: "a take-over is not told", theme: "take-over", claim: answered(func(rows []driver.Row) {
		for _, r := range rows {
			driver.RecordOf(r).Abandoned = false
		}
	})},
	{name: "every claim is told as a take-over", theme: "take-over", claim: answered(func(rows []driver.Row) {
		for _, r := range rows {
			driver.RecordOf(r).Abandoned = true
		}
	})},
	{name: "a take-over does not raise the version", theme: "take-over", skew: true},
}
