package storagetest

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/belfry-go/belfry/storage/driver"
)

// model is what a table has to contain, kept by the simplest means.
type model struct {
	rows []*thing // by id
}

func (m *model) byKey(scope driver.Scope, key string) *thing {
	for _, r := range m.rows {
		if r.Scope == scope && r.Key == key {
			return r
		}
	}
	return nil
}

func (m *model) byID(id int64) *thing {
	for _, r := range m.rows {
		if r.ID == id {
			return r
		}
	}
	return nil
}

func (m *model) insert(r *thing) {
	m.rows = append(m.rows, copyOf(r))
	slices.SortFunc(m.rows, func(a, b *thing) int { return cmp.Compare(a.ID, b.ID) })
}

// save says whether r is written; it may be once in a call.
func (m *model) save(r *thing) bool {
	stored := m.byID(r.ID)
	if stored == nil || stored.Version != r.Version {
		return false
	}
	fixed := *stored
	*stored = *r
	stored.Scope, stored.Key, stored.Lane, stored.Origin = fixed.Scope, fixed.Key, fixed.Lane, fixed.Origin
	stored.Version++
	return true
}

func (m *model) extend(r *thing, until time.Time) bool {
	stored := m.byID(r.ID)
	if stored == nil || stored.LeaseExpiresOn.IsZero() || stored.ClaimToken != r.ClaimToken {
		return false
	}
	stored.LeaseExpiresOn = until
	return true
}

func (m *model) remove(r *thing) bool {
	stored := m.byID(r.ID)
	if stored == nil || stored.Version != r.Version {
		return false
	}
	m.rows = slices.DeleteFunc(m.rows, func(other *thing) bool { return other == stored })
	return true
}

func (m *model) claim(c driver.Claim) []*thing {
	taken := []*thing{}
	for _, lane := range c.Lanes {
		for _, r := range m.claimable(c, lane) {
			r.Version++
			r.Abandoned = !r.LeaseExpiresOn.IsZero()
			r.LeaseExpiresOn, r.ClaimToken = c.LeaseUntil, c.Token
			if c.Busy != "" {
				r.Status = c.Busy
			}
			taken = append(taken, copyOf(r))
		}
	}
	return taken
}

// claimable gives the rows of one lane that c takes, in order.
func (m *model) claimable(c driver.Claim, lane driver.LaneClaim) (rows []*thing) {
	for _, r := range m.rows {
		free := r.LeaseExpiresOn.IsZero() && slices.Contains(c.Statuses, r.Status)
		expired := !r.LeaseExpiresOn.IsZero() && !r.LeaseExpiresOn.After(c.Now) && (c.Expired.IsZero() || !r.LeaseExpiresOn.After(c.Expired))
		if r.Lane == lane.Lane && !r.DueOn.IsZero() && !r.DueOn.After(c.Now) && (free || expired) &&
			(c.Kinds == nil || slices.Contains(c.Kinds, r.Kind)) && (c.Scopes == nil || slices.Contains(c.Scopes, r.Scope)) && !slices.Contains(c.Except, r.Scope) &&
			!slices.Contains(c.ExceptKinds, driver.ScopedKind{Scope: r.Scope, Kind: r.Kind}) && !isOf(r, c.ExceptNames) &&
			lane.After.Before(r.DueOn, r.ID) {
			rows = append(rows, r)
		}
	}
	slices.SortStableFunc(rows, func(a, b *thing) int { return a.DueOn.Compare(b.DueOn) })
	return rows[:min(len(rows), lane.Limit)]
}

// next tells where the first row of each lane is that c takes by the horizon.
func (m *model) next(c driver.Claim, horizon time.Time) []driver.Cursor {
	first := make([]driver.Cursor, len(c.Lanes))
	c.Now = horizon
	for i, lane := range c.Lanes {
		lane.Limit = 1
		for _, r := range m.claimable(c, lane) {
			first[i] = driver.Cursor{DueOn: r.DueOn, ID: r.ID}
		}
	}
	return first
}

// filter is a condition, and what it means in Go.
type filter struct {
	cond  driver.Cond
	holds func(*thing) bool
}

// find gives the rows within reach for which all filters hold, in the order of q.
func (m *model) find(reach driver.ScopeFilter, filters []filter, q driver.Query) []*thing {
	scope, one := reach.Scope()
	rows := []*thing{}
	for _, r := range m.rows {
		if (!one || r.Scope == scope) &&
			!slices.ContainsFunc(filters, func(f filter) bool { return !f.holds(r) }) {
			rows = append(rows, r)
		}
	}
	if q.OrderBy != "" {
		slices.SortStableFunc(rows, func(a, b *thing) int { return compareThings(q.OrderBy, a, b) })
	}
	if q.Desc {
		slices.Reverse(rows)
	}
	return rows[:min(len(rows), q.Limit)]
}

// compareThings orders by the columns that the model test orders by; the zero
// values of the nullable ones are NULL and come first there.
func compareThings(column string, a, b *thing) int {
	switch column {
	case "key":
		return cmp.Compare(a.Key, b.Key)
	case "due_on":
		return a.DueOn.Compare(b.DueOn)
	case "note":
		return cmp.Compare(a.Note, b.Note)
	case "lane":
		return cmp.Compare(a.Lane, b.Lane)
	}
	panic("no order by " + column)
}

var (
	someKeys     = rapid.SampledFrom([]string{"a", "B", "\u00e9", "d", "e'"})
	someScopes   = rapid.SampledFrom([]driver.Scope{"", "one"})
	someStatuses = rapid.SampledFrom([]string{ready, busy, done})
	someTypes    = rapid.SampledFrom([]string{"", "x", "y"})
	someLanes    = rapid.SampledFrom([]int16{driver.LaneUrgent, driver.LaneNormal, driver.LaneBulk})
	someNotes    = rapid.SampledFrom([]string{"", "n", "N", `\`, "{,\"}"})
	someMoments  = rapid.Map(rapid.IntRange(0, 6), at)
	orNever      = rapid.OneOf(rapid.Just(time.Time{}), someMoments)
)

// someFilters draws conditions, nested at most twice.
func someFilters(t *rapid.T, depth int) filter {
	switch rapid.IntRange(0, 6+depth).Draw(t, "condition") {
	case 0:
		v := someKeys.Draw(t, "key")
		return filter{driver.AtMost("key", v), func(r *thing) bool { return r.Key <= v }}
	case 1:
		v := someNotes.Draw(t, "note")
		return filter{driver.Greater("note", v), func(r *thing) bool { return r.Note != "" && r.Note > v }}
	case 2:
		v := someMoments.Draw(t, "moment")
		return filter{driver.AtLeast("due_on", v), func(r *thing) bool { return !r.DueOn.IsZero() && !r.DueOn.Before(v) }}
	case 3:
		return filter{driver.Null("lease_expires_on"), func(r *thing) bool { return r.LeaseExpiresOn.IsZero() }}
	case 4:
		v := rapid.SliceOfN(someStatuses, 0, 2).Draw(t, "statuses")
		return filter{driver.In("status", v), func(r *thing) bool { return slices.Contains(v, r.Status) }}
	case 5:
		v := rapid.Bool().Draw(t, "abandoned")
		return filter{driver.Eq("abandoned", v), func(r *thing) bool { return r.Abandoned == v }}
	case 6:
		v := someLanes.Draw(t, "lane")
		return filter{driver.Less("lane", v), func(r *thing) bool { return r.Lane < v }}
	}
	parts := []filter{someFilters(t, depth-1), someFilters(t, depth-1)}
	return filter{
		driver.Any(parts[0].cond, parts[1].cond),
		func(r *thing) bool { return parts[0].holds(r) || parts[1].holds(r) },
	}
}

func someThing(t *rapid.T) *thing {
	r := newThing(someKeys.Draw(t, "key"))
	r.Scope = someScopes.Draw(t, "scope")
	r.Lane = someLanes.Draw(t, "lane")
	r.Origin = someNotes.Draw(t, "origin")
	change(t, r)
	return r
}

// change draws new values of what a writer changes.
func change(t *rapid.T, r *thing) {
	r.Status = someStatuses.Draw(t, "status")
	r.Kind = someTypes.Draw(t, "type")
	r.DueOn = orNever.Draw(t, "due")
	r.LeaseExpiresOn = orNever.Draw(t, "lease")
	r.Note = someNotes.Draw(t, "note")
}

func someClaim(t *rapid.T, token int, hands []*thing) driver.Claim {
	c := driver.Claim{
		Statuses:   rapid.SliceOfN(someStatuses, 0, 3).Draw(t, "statuses"),
		Busy:       rapid.SampledFrom([]string{busy, ""}).Draw(t, "busy"),
		Now:        someMoments.Draw(t, "now"),
		LeaseUntil: at(rapid.IntRange(7, 9).Draw(t, "until")),
		Token:      fmt.Sprint("token ", token),
	}
	if rapid.Bool().Draw(t, "leases are spared") {
		c.Expired = orNever.Draw(t, "expired")
	}
	if rapid.Bool().Draw(t, "of types") {
		c.Kinds = rapid.SliceOfNDistinct(someTypes, 0, 3, rapid.ID[string]).Draw(t, "types")
	}
	if rapid.Bool().Draw(t, "of scopes") {
		c.Scopes = rapid.SliceOfNDistinct(someScopes, 0, 2, rapid.ID[driver.Scope]).Draw(t, "scopes")
	}
	if rapid.Bool().Draw(t, "paused") {
		c.Except = []driver.Scope{someScopes.Draw(t, "except")}
	}
	if rapid.Bool().Draw(t, "types paused") {
		c.ExceptKinds = []driver.ScopedKind{{Scope: someScopes.Draw(t, "in"), Kind: someTypes.Draw(t, "except type")}}
	}
	if rapid.Bool().Draw(t, "kinds paused") {
		names := []string{someNotes.Draw(t, "kind")}
		c.ExceptNames = driver.Names{Column: "origin", Names: names, Scoped: []driver.ScopedKind{{Scope: someScopes.Draw(t, "of scope"), Kind: someNotes.Draw(t, "kind there")}}}
	}
	for _, lane := range rapid.SliceOfNDistinct(someLanes, 0, 3, rapid.ID[int16]).Draw(t, "lanes") {
		l := driver.LaneClaim{Lane: lane, Limit: rapid.IntRange(0, 3).Draw(t, "limit")}
		if len(hands) > 0 && rapid.Bool().Draw(t, "behind a cursor") {
			r := rapid.SampledFrom(hands).Draw(t, "cursor")
			l.After = driver.Cursor{DueOn: r.DueOn, ID: r.ID}
		}
		c.Lanes = append(c.Lanes, l)
	}
	return c
}

func isOf(r *thing, k driver.Names) bool {
	return k.Column != "" && (slices.Contains(k.Names, r.Origin) || slices.Contains(k.Scoped, driver.ScopedKind{Scope: r.Scope, Kind: r.Origin}))
}
