// Package backlog counts the rows of a domain for its Health: in the order of an index
// and up to a limit, so that its cost does not depend on the number of rows.
package backlog

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/belfry-go/belfry/health"
	"github.com/belfry-go/belfry/internal/outage"
	"github.com/belfry-go/belfry/internal/pause"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// Limit is how many rows are looked at in each lane, and for each reason of a hold,
// over all scopes; ScopeLimit is how many for each reason where one scope is asked for.
// Lanes bounds the lanes of a table.
const (
	Limit      = 10_000
	ScopeLimit = 1000
	Lanes      = 16
)

// Table is one with rows that become due.
type Table struct {
	Schema *driver.Schema
	// By are columns that the functions ask for beside kind.
	By []string
	// Ours leaves out rows of other domains; nil: none are.
	Ours func(driver.Row) bool
	// Serves says whether this process serves rows like that; nil: all.
	Serves func(driver.Row) bool
	// InDoubt says whether a due row is in doubt; nil: none is.
	InDoubt func(driver.Row) bool
	// Reasons are those for which its rows are on hold (column hold_reason), and
	// Doubtful the one that stands for doubt; empty: none does.
	Reasons  []string
	Doubtful string
}

// Stats is one count under way.
type Stats struct {
	From  driver.Reader
	reach storage.ScopeFilter
	out   *health.Summary
	due   map[dueKey]*health.Due
	held  map[*driver.Schema]map[string]int64 // of each table and reason the lowest id
}

type dueKey struct {
	table, kind string
	lane        int16
}

// Look adds something to the summary.
type Look func(ctx context.Context, c *Stats) error

// Take runs looks over one moment of the database and sums up. read may run its
// function more than once. The error names no scope.
func Take(ctx context.Context, read func(context.Context, func(driver.Reader) error) error, reach storage.ScopeFilter, looks ...Look) (health.Summary, error) {
	scope, one := reach.Scope()
	if one {
		if err := (&driver.Schema{Name: "health"}).CheckScope(scope); err != nil {
			return health.Summary{}, err
		}
	}
	var out health.Summary
	err := read(ctx, func(from driver.Reader) error {
		out = health.Summary{On: driver.Now(from.Store()), Scope: scope, Everywhere: !one}
		c := &Stats{From: from, reach: reach, out: &out, due: map[dueKey]*health.Due{}, held: map[*driver.Schema]map[string]int64{}}
		for _, look := range looks {
			if err := look(ctx, c); err != nil {
				return err
			}
		}
		c.order()
		return c.dateHolds(ctx)
	})
	if err != nil {
		return health.Summary{}, err
	}
	return out, nil
}

// Covers reports whether rows of that scope were asked for.
func (c *Stats) Covers(scope storage.Scope) bool {
	within, one := c.reach.Scope()
	return !one || scope == within
}

// On is the moment of the count.
func (c *Stats) On() time.Time { return c.out.On }

// Summary is what was found so far, for what only one domain has.
func (c *Stats) Summary() *health.Summary { return c.out }

// Of looks at the tables, one after another.
func Of(tables ...Table) Look {
	return func(ctx context.Context, c *Stats) error {
		for _, t := range tables {
			if err := cmp.Or(c.lanes(ctx, t), c.holds(ctx, t)); err != nil {
				return err
			}
		}
		return nil
	}
}

// lanes counts what is due, lane by lane: those that no poller lists as well.
func (c *Stats) lanes(ctx context.Context, t Table) error {
	lanes, more, err := LanesOf(ctx, c.From, t.Schema)
	if err != nil {
		return err
	}
	c.out.DueCapped = c.out.DueCapped || more
	for _, lane := range lanes {
		if err := c.lane(ctx, t, lane); err != nil {
			return err
		}
	}
	return nil
}

// LanesOf finds the lanes of a table that hold open rows, at most [Lanes] of them, and
// says whether there are more.
func LanesOf(ctx context.Context, from driver.Reader, s *driver.Schema) (lanes []int16, more bool, err error) {
	for first := math.MinInt16; first <= math.MaxInt16; first = int(lanes[len(lanes)-1]) + 1 {
		got, err := from.CountBy(ctx, s, driver.Everywhere(), driver.CountBy{
			By: []string{"lane"}, Where: []driver.Cond{driver.AtLeast("lane", first), driver.NotNull("due_on")},
			OrderBy: "lane", Limit: 1,
		})
		if err != nil || len(got) == 0 {
			return lanes, false, err
		}
		if len(lanes) == Lanes {
			return lanes, true, nil
		}
		lanes = append(lanes, driver.DueOf(got[0].Row).Lane)
	}
	return lanes, false, nil
}

// lane counts the due rows of a lane. Those of one claim share the end of their
// lease, so that groups stay few.
func (c *Stats) lane(ctx context.Context, t Table, lane int16) error {
	got, err := c.tally(ctx, t.Schema, driver.CountBy{
		By:      append([]string{"kind", "lease_expires_on"}, t.By...),
		Where:   []driver.Cond{driver.Eq("lane", lane), driver.AtMost("due_on", c.out.On)},
		OrderBy: "due_on",
	})
	if err != nil {
		return err
	}
	for _, g := range got.groups {
		if t.Ours == nil || t.Ours(g.Row) {
			c.add(t, lane, g, got.capped)
		}
	}
	c.out.DueCapped = c.out.DueCapped || got.capped
	return nil
}

// tallied is an answer of which only what was asked for is left.
type tallied struct {
	groups []driver.Group
	capped bool // there may be more, of whatever scope
}

// tally counts up to the limit over all scopes, whatever was asked for: the rows of
// one scope may lie far apart.
func (c *Stats) tally(ctx context.Context, s *driver.Schema, q driver.CountBy) (out tallied, err error) {
	if _, one := c.reach.Scope(); one {
		q.By = append(q.By, "scope")
	}
	q.Limit = Limit
	got, err := c.From.CountBy(ctx, s, driver.Everywhere(), q)
	seen := 0
	for _, g := range got {
		seen += g.N
		if c.Covers(driver.RecordOf(g.Row).Scope) {
			out.groups = append(out.groups, g)
		}
	}
	out.capped = seen >= Limit
	return out, err
}

// add counts rows like one, which is the one due for longest.
func (c *Stats) add(t Table, lane int16, g driver.Group, capped bool) {
	rec := driver.DueOf(g.Row)
	key := dueKey{t.Schema.Name, rec.Kind, lane}
	d := c.due[key]
	if d == nil {
		d = &health.Due{Table: key.table, Kind: key.kind, Lane: lane, Capped: capped}
		c.due[key] = d
	}
	d.Served = d.Served || t.Serves == nil || t.Serves(g.Row)
	if t.InDoubt != nil && t.InDoubt(g.Row) {
		c.Doubt(t.Schema.Name, rec.Kind, g.N, capped)
	}
	switch {
	case rec.LeaseExpiresOn.After(c.out.On):
		d.Held += g.N
		return
	case !rec.LeaseExpiresOn.IsZero():
		d.Abandoned += g.N
	}
	d.Rows += g.N
	if d.OldestOn.IsZero() || rec.DueOn.Before(d.OldestOn) {
		d.OldestOn = rec.DueOn
	}
}

// holds counts what waits for a person, by reason, and of what is in doubt by kind.
func (c *Stats) holds(ctx context.Context, t Table) error {
	limit := Limit
	if _, one := c.reach.Scope(); one { // the index has the rows of each scope together
		limit = ScopeLimit
	}
	for _, reason := range t.Reasons {
		got, err := c.From.CountBy(ctx, t.Schema, c.reach, driver.CountBy{
			By:      []string{"kind"},
			Where:   []driver.Cond{driver.Eq("is_on_support_hold", true), driver.Eq("hold_reason", reason)},
			OrderBy: "id", Limit: limit,
		})
		if err != nil {
			return err
		}
		seen := 0
		for _, g := range got {
			seen += g.N
		}
		for _, g := range got {
			c.Hold(t.Schema, reason, driver.RecordOf(g.Row).ID, g.N, seen >= limit)
			if reason == t.Doubtful {
				c.Doubt(t.Schema.Name, driver.RecordOf(g.Row).Kind, g.N, seen >= limit)
			}
		}
	}
	return nil
}

// Count counts the rows that q describes, in the order of an index and up to the
// limit, and tells of each group. capped says that there may be more.
func (c *Stats) Count(ctx context.Context, s *driver.Schema, q driver.CountBy, each func(row driver.Row, n int, capped bool)) (capped bool, err error) {
	got, err := c.tally(ctx, s, q)
	for _, g := range got.groups {
		each(g.Row, g.N, got.capped)
	}
	return got.capped, err
}

// Pauses lists the pauses of a table that are in force.
func Pauses(t *driver.Table[pause.Row]) Look {
	return func(ctx context.Context, c *Stats) error {
		rows, err := pause.FirstInForce(ctx, c.From, t)
		for _, p := range rows {
			if p.Everywhere || c.Covers(p.Scope) {
				c.out.Pauses = append(c.out.Pauses, health.Pause{
					Table: t.Name, Scope: p.Scope, Everywhere: p.Everywhere, Kind: cmp.Or(p.PausedType, p.Kind), Since: p.PausedOn, Until: p.PausedUntil,
				})
			}
		}
		return err
	}
}

// Outages lists the channels that are out: the shared ones, and those of tenants if the
// domain has such.
func Outages(ofTenants bool) Look {
	return func(ctx context.Context, c *Stats) error {
		rows, err := outage.First(ctx, c.From)
		for _, r := range rows {
			if r.Everywhere || ofTenants && c.Covers(r.Scope) {
				c.out.Outages = append(c.out.Outages, health.Outage{
					Scope: r.Scope, Everywhere: r.Everywhere, Channel: r.Kind, Class: r.Class, Code: r.Code, Since: r.Since,
				})
			}
		}
		return err
	}
}

// Hold adds to what is on hold; first is the lowest id among it, or zero.
func (c *Stats) Hold(s *driver.Schema, reason string, first int64, n int, capped bool) {
	c.out.Holds = add(c.out.Holds, health.Count{Table: s.Name, Reason: reason, Rows: n, Capped: capped})
	if first == 0 {
		return
	}
	if c.held[s] == nil {
		c.held[s] = map[string]int64{}
	}
	if lowest := c.held[s][reason]; lowest == 0 || first < lowest {
		c.held[s][reason] = first
	}
}

// dateHolds says when the first row of each hold was made, which has the lowest id: one
// statement for each table.
func (c *Stats) dateHolds(ctx context.Context) error {
	for s, held := range c.held {
		ids, made := slices.Collect(maps.Values(held)), s.Column("created_on")
		rows, err := c.From.Select(ctx, s, c.reach, driver.Query{Columns: []string{made.Name}, Where: []driver.Cond{driver.In("id", ids)}, Limit: len(ids)})
		if err != nil {
			return err
		}
		on := map[int64]time.Time{}
		for _, row := range rows {
			on[driver.RecordOf(row).ID] = *made.Instant(driver.FieldsOf(row))
		}
		for i := range c.out.Holds {
			if h := &c.out.Holds[i]; h.Table == s.Name {
				h.OldestOn = on[held[h.Reason]]
			}
		}
	}
	return nil
}

// Doubt adds to what is in doubt.
func (c *Stats) Doubt(table, kind string, n int, capped bool) {
	c.out.Doubts = add(c.out.Doubts, health.Count{Table: table, Kind: kind, Rows: n, Capped: capped})
}

// Dead adds to the dead letters.
func (c *Stats) Dead(table, kind string, n int, capped bool) {
	c.out.DeadLetters = add(c.out.DeadLetters, health.Count{Table: table, Kind: kind, Rows: n, Capped: capped})
}

func add(all []health.Count, more health.Count) []health.Count {
	i := slices.IndexFunc(all, func(a health.Count) bool {
		return a.Table == more.Table && a.Kind == more.Kind && a.Reason == more.Reason
	})
	if i < 0 {
		return append(all, more)
	}
	all[i].Rows += more.Rows
	all[i].Capped = all[i].Capped || more.Capped
	return all
}

// order sorts the answer.
func (c *Stats) order() {
	for _, d := range c.due {
		c.out.Due = append(c.out.Due, *d)
	}
	slices.SortFunc(c.out.Due, func(a, b health.Due) int {
		return cmp.Or(waiting(a, b), cmp.Compare(b.Rows, a.Rows), strings.Compare(a.Table, b.Table), strings.Compare(a.Kind, b.Kind), cmp.Compare(a.Lane, b.Lane))
	})
	for _, counts := range [][]health.Count{c.out.Holds, c.out.Doubts, c.out.DeadLetters} {
		slices.SortStableFunc(counts, func(a, b health.Count) int { return cmp.Compare(b.Rows, a.Rows) })
	}
}

// waiting sorts what waits before what does not, the oldest first.
func waiting(a, b health.Due) int {
	switch {
	case a.OldestOn.IsZero() && b.OldestOn.IsZero():
		return 0
	case a.OldestOn.IsZero():
		return 1
	case b.OldestOn.IsZero():
		return -1
	}
	return a.OldestOn.Compare(b.OldestOn)
}
