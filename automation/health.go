package automation

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/belfry-go/belfry/storage/driver"
)

// Health is how due work is doing at a moment. Counts are of the rows that
// [Scheduler.Health] looked at. String tells it to people.
type Health struct {
	On time.Time
	// Scopes are those that were asked for; none: all.
	Scopes []Scope
	// OldestDueOn is the due moment of the row that has waited for longest; zero
	// if none of the rows waits. Rows that a worker has do not wait.
	OldestDueOn time.Time
	// Due are the due rows by type, the most first. DueCapped says that there are
	// more: in some lane a thousand rows were due.
	Due       []DueRows
	DueCapped bool
	// Holds are the rows on support hold, by reason.
	Holds []HeldRows
	// Lost are the series that have no next row, at most a hundred of those that
	// are without one for longest; a healthy system has none.
	Lost []LostSeries
	// LeaseLosses is how many rows this scheduler has taken over from workers that
	// died or stalled, since it was made.
	LeaseLosses int64
}

// DueRows are the due rows of one type.
type DueRows struct {
	Type string
	// Rows wait for a worker. Abandoned ones of them are left over from a worker
	// that is gone.
	Rows, Abandoned int
	// Held are those that a worker has at this moment.
	Held int
	// OldestDueOn is the due moment of the row that has waited for longest; zero
	// if a worker has all of them.
	OldestDueOn time.Time
	// Served says that the type is registered here.
	Served bool
}

// HeldRows are the rows on support hold for one reason. Capped says that there
// may be more: a thousand were looked at, of all scopes together.
type HeldRows struct {
	Reason Reason
	Rows   int
	Capped bool
}

// OldestDue is for how long the oldest due row has waited.
func (h Health) OldestDue() time.Duration {
	if h.OldestDueOn.IsZero() {
		return 0
	}
	return h.On.Sub(h.OldestDueOn)
}

// Unserved are the types that have due rows and are not registered here. Where
// another process registers them, that is as it should be.
func (h Health) Unserved() []string {
	var out []string
	for _, d := range h.Due {
		if !d.Served {
			out = append(out, d.Type)
		}
	}
	return out
}

// String is a text of several lines.
func (h Health) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "due work at %s", stampText(h.On))
	for i, scope := range h.Scopes {
		fmt.Fprintf(&b, "%s%q", []string{" of ", ", "}[min(i, 1)], scope)
	}
	h.due(&b)
	if len(h.Holds) == 0 {
		b.WriteString("\n  nothing waits for a person")
	}
	for _, held := range h.Holds {
		fmt.Fprintf(&b, "\n  on hold, %s: %s", held.Reason, atLeast(held.Rows, held.Capped))
	}
	h.lost(&b)
	fmt.Fprintf(&b, "\n  leases lost to workers that died or stalled, seen here: %d", h.LeaseLosses)
	return b.String()
}

func (h Health) due(b *strings.Builder) {
	switch {
	case !h.OldestDueOn.IsZero():
		fmt.Fprintf(b, "\n  the oldest has waited for %s", wait(h.OldestDue()))
	case h.DueCapped:
		b.WriteString("\n  workers have all that was due first")
	default:
		b.WriteString("\n  nothing waits for a worker")
	}
	for _, d := range h.Due {
		fmt.Fprintf(b, "\n  due, %s: %s", d.Type, atLeast(d.Rows, h.DueCapped))
		if d.Abandoned > 0 {
			fmt.Fprintf(b, ", %d of them left by a worker that is gone", d.Abandoned)
		}
		if d.Held > 0 {
			fmt.Fprintf(b, ", and %d with a worker", d.Held)
		}
		if !d.Served {
			b.WriteString("; not served by this process")
		}
	}
}

func atLeast(n int, capped bool) string {
	if capped {
		return fmt.Sprintf("%d or more", n)
	}
	return fmt.Sprint(n)
}

// healthLimit is how many rows Health counts of each lane and hold reason.
const healthLimit = 1000

// Health tells how the due work of those scopes is doing; none means all of
// them. It is for dashboards and alerts: however many rows there are, it counts
// no more than the thousand of each lane that are due for longest, and a
// thousand holds of each reason, over all scopes, and says where that was not
// all. It writes nothing.
//
//spec:a-116
func (s *Scheduler) Health(ctx context.Context, scopes ...Scope) (Health, error) {
	var h Health
	for _, scope := range scopes {
		if err := schedules.CheckScope(scope); err != nil {
			return h, fmt.Errorf("automation: Health: %w", err)
		}
	}
	err := s.read(ctx, func(from driver.Reader) error {
		h = Health{On: s.now(), Scopes: slices.Clone(scopes), LeaseLosses: s.registry.leaseLosses.Load()}
		for _, look := range []func(context.Context, driver.Reader, *Health) error{s.explainer().lookAtDue, s.explainer().lookAtHolds, s.explainer().lookAtSeries} {
			if err := look(ctx, from, &h); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return Health{}, fmt.Errorf("automation: Health: %w", err)
	}
	return h, nil
}

// covers reports whether the scope is one that was asked for.
func (h *Health) covers(scope Scope) bool {
	return len(h.Scopes) == 0 || slices.Contains(h.Scopes, scope)
}

// lookAtDue counts what is due, lane by lane.
func (s explainer) lookAtDue(ctx context.Context, from driver.Reader, h *Health) error {
	byType := map[string]*DueRows{}
	for lane, more, err := firstLane(ctx, from, math.MinInt16); more || err != nil; lane, more, err = firstLane(ctx, from, lane+1) {
		if err != nil {
			return err
		}
		if err := s.lookAtLane(ctx, from, h, lane, byType); err != nil {
			return err
		}
		if lane == math.MaxInt16 {
			break
		}
	}
	for _, d := range byType {
		h.Due = append(h.Due, *d)
	}
	slices.SortFunc(h.Due, func(a, b DueRows) int {
		return cmp.Or(cmp.Compare(b.Rows, a.Rows), cmp.Compare(a.Type, b.Type))
	})
	return nil
}

// firstLane finds the first lane, from the lowest on, that holds open rows, so
// that rows of a lane that no poller lists are seen as well.
func firstLane(ctx context.Context, from driver.Reader, lowest int16) (lane int16, found bool, err error) {
	got, err := schedules.Everywhere().Tally(ctx, from, driver.Tally{
		By: []string{"lane"}, Where: []driver.Cond{driver.AtLeast("lane", lowest), driver.NotNull("due_on")},
		OrderBy: "lane", Limit: 1,
	})
	if err != nil || len(got) == 0 {
		return 0, false, err
	}
	return got[0].Row.Lane, true, nil
}

// lookAtLane counts the rows of a lane. Those of one claim share the end of
// their lease, so that groups stay few.
func (s explainer) lookAtLane(ctx context.Context, from driver.Reader, h *Health, lane int16, byType map[string]*DueRows) error {
	got, err := schedules.Everywhere().Tally(ctx, from, driver.Tally{
		By:      []string{"scope", "kind", "lease_expires_on"},
		Where:   []driver.Cond{driver.Eq("lane", lane), driver.AtMost("due_on", h.On)},
		OrderBy: "due_on", Limit: healthLimit,
	})
	seen := 0
	for _, g := range got {
		seen += g.N
		if h.covers(g.Row.Scope) {
			h.add(byType, g.Row, g.N, s.registry.serves(g.Row.Kind))
		}
	}
	h.DueCapped = h.DueCapped || seen == healthLimit
	return err
}

// add counts n rows like one, which is the one due for longest.
func (h *Health) add(byType map[string]*DueRows, row *scheduleRow, n int, served bool) {
	d := byType[row.Kind]
	if d == nil {
		d = &DueRows{Type: row.Kind, Served: served}
		byType[row.Kind] = d
	}
	switch {
	case row.LeaseExpiresOn.After(h.On):
		d.Held += n
		return
	case !row.LeaseExpiresOn.IsZero():
		d.Abandoned += n
	}
	d.Rows += n
	d.OldestDueOn = earliest(d.OldestDueOn, row.DueOn)
	h.OldestDueOn = earliest(h.OldestDueOn, row.DueOn)
}

func earliest(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

// lookAtHolds counts what waits for a person.
func (s explainer) lookAtHolds(ctx context.Context, from driver.Reader, h *Health) error {
	for _, reason := range holdReasons {
		got, err := schedules.Everywhere().Tally(ctx, from, driver.Tally{
			By:      []string{"scope"},
			Where:   []driver.Cond{driver.Eq("is_on_support_hold", true), driver.Eq("hold_reason", reason)},
			OrderBy: "id", Limit: healthLimit,
		})
		if err != nil {
			return err
		}
		held, seen := HeldRows{Reason: reason}, 0
		for _, g := range got {
			seen += g.N
			if h.covers(g.Row.Scope) {
				held.Rows += g.N
			}
		}
		held.Capped = seen == healthLimit
		if held.Rows > 0 || held.Capped {
			h.Holds = append(h.Holds, held)
		}
	}
	return nil
}

// lostLimit is how many series without a next row Health names.
const lostLimit = 100

// LostSeries is an active series whose current occurrence has come and has no
// row that could run: nothing of it happens any more. To ensure its candidate
// again, by an event or by reconciliation, mends it.
type LostSeries struct {
	Scope Scope
	Key   string // of the missing row
	Type  string
	Since time.Time // the occurrence
}

// missingSeries lists active series whose current occurrence has come and has no
// row that could run: nothing of them would ever happen again. There are none
// unless a process of a version without series settled such a row, somebody
// wrote to the tables, the cadence cannot be read, or an occurrence was made in shadow
// while its part moved on. To ensure the candidate
// again repairs it. It looks at the longest waiting ones, at most so many times
// limit as missingSpan says.
func missingSeries(ctx context.Context, from driver.Reader, now time.Time, limit int) ([]*series, error) {
	var out []*series
	var after *driver.Position
	for range missingSpan {
		page, err := seriesTable.Everywhere().Find(ctx, from, driver.Query{
			Where: []driver.Cond{driver.Eq("active", true), driver.AtMost("next_on", now)}, OrderBy: "next_on", Limit: limit, After: after,
		})
		if err != nil || len(page) == 0 {
			return out, err
		}
		rows, err := occurrencesOf(ctx, from, page)
		if err != nil {
			return nil, err
		}
		stuck, err := stuckAmong(ctx, from, page, rows)
		if err != nil {
			return nil, err
		}
		out = append(out, stuck[:min(len(stuck), limit-len(out))]...)
		last := page[len(page)-1]
		if len(page) < limit || len(out) == limit {
			return out, nil
		}
		after = &driver.Position{Value: last.NextOn, ID: last.ID}
	}
	return out, nil
}

// stuckAmong are the series without a row that could run. Those in shadow wait for
// a move, unless their part is past the old scheduler.
func stuckAmong(ctx context.Context, from driver.Reader, page []*series, rows map[int64]*scheduleRow) (out []*series, err error) {
	awake, err := passedOver(ctx, from, slices.Collect(maps.Values(rows)))
	for _, d := range page {
		switch row := rows[d.ID]; {
		case row == nil:
			out = append(out, d)
		case row.inShadow():
			if slices.ContainsFunc(awake, func(g gone) bool { return g.scope == d.Scope && g.series == d.Key }) {
				out = append(out, d)
			}
		case !runs(row):
			out = append(out, d)
		}
	}
	return out, err
}

// missingSpan is how many pages of late series missingSeries looks at.
const missingSpan = 3

// lookAtSeries names series without a next row.
func (s explainer) lookAtSeries(ctx context.Context, from driver.Reader, h *Health) error {
	found, err := missingSeries(ctx, from, h.On, lostLimit)
	if err != nil {
		return err
	}
	for _, d := range found {
		key, err := d.key(d.NextOn)
		if err != nil {
			return err
		}
		if h.covers(d.Scope) {
			h.Lost = append(h.Lost, LostSeries{d.Scope, key, d.Kind, d.NextOn})
		}
	}
	return nil
}

func (h Health) lost(b *strings.Builder) {
	for _, l := range h.Lost {
		fmt.Fprintf(b, "\n  a series has no row since %s: %s", stampText(l.Since), l.Key)
	}
}
