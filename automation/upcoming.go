package automation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/belfry-go/belfry/automation/cutover"
	"github.com/belfry-go/belfry/internal/backlog"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// Upcoming is due work that is planned, as [Support.Upcoming] lists it.
type Upcoming struct {
	Schedule
	// Expected says that it is a later occurrence of a series. It gets a row, with this
	// Key, when the occurrence before it has ended.
	Expected bool
	// OldScheduler says that the old scheduler owns the run at the stage of its part: unless
	// the roll-out moves on, nothing goes out here.
	OldScheduler bool
}

// maxExpected is how many occurrences of a series one page has.
const maxExpected = 31

// What begins the place of a page of the old scheduler's rows, which follow those of this
// side, and of expected occurrences, which come last.
const (
	oldPages      = "old "
	expectedPages = "expected "
)

// Upcoming lists what is planned in a scope from one moment until before another: who gets
// what, and when. First come the rows, the next due first, then those that the old scheduler
// owns ([Upcoming].OldScheduler), then the later occurrences of series, of each at most the
// first 31 of the span. Rows on hold are in [Support.Held]. A page has at most p.Limit rows of
// each side, and the occurrences of as many series; it says where the next one begins; empty
// after the last. A row that is new or moves between two pages may be missed or come twice. An
// After of the caller's own making is [storage.ErrPage].
func (s Support) Upcoming(ctx context.Context, scope Scope, from, until time.Time, p storage.Page) (out []Upcoming, next string, err error) {
	if !from.Before(until) {
		return nil, "", errors.New("automation: Upcoming: until is not after from")
	}
	err = s.read(ctx, func(r driver.Reader) (err error) {
		out, next = nil, ""
		u := upcoming{r: r, scope: scope, from: from, until: until, page: p}
		u.guarded, err = guardedTypes(ctx, r, scope, s.registry)
		for _, list := range []func(context.Context) ([]Upcoming, string, error){u.rows, u.oldRows, u.expected} {
			if err != nil || next != "" {
				return err
			}
			var more []Upcoming
			more, next, err = list(ctx)
			out = append(out, more...)
		}
		return err
	})
	if err != nil {
		return nil, "", fmt.Errorf("automation: Upcoming: %w", err)
	}
	return out, next, nil
}

// upcoming is one call of [Support.Upcoming]. Its lists are empty where the page begins behind
// them.
type upcoming struct {
	r           driver.Reader
	scope       Scope
	from, until time.Time
	page        storage.Page
	guarded     []string // the types with runs that may be the old scheduler's
}

// rows reads each lane in the order of the index that polls walk: an index of its own
// would cost each reminder that is made.
func (u *upcoming) rows(ctx context.Context) (out []Upcoming, next string, err error) {
	if strings.HasPrefix(u.page.After, oldPages) || strings.HasPrefix(u.page.After, expectedPages) {
		return nil, "", nil
	}
	after, err := placeInTime(u.page.After)
	if err != nil {
		return nil, "", err
	}
	lanes, _, err := backlog.LanesOf(ctx, u.r, &schedules.Schema)
	if err != nil {
		return nil, "", err
	}
	var rows []*scheduleRow
	for _, lane := range lanes {
		some, err := schedules.Find(ctx, u.r, u.scope, driver.Query{
			Where:   []driver.Cond{driver.Eq("lane", int64(lane)), driver.AtLeast("due_on", u.from), driver.Less("due_on", u.until)},
			OrderBy: "due_on", After: after, Limit: u.page.Size() + 1,
		})
		if err != nil {
			return nil, "", err
		}
		rows = append(rows, some...)
	}
	rows, next = firstInTime(rows, u.page.Size(), func(r *scheduleRow) (time.Time, int64) { return r.DueOn, r.ID })
	for _, row := range views(rows) {
		out = append(out, Upcoming{Schedule: row})
	}
	return out, next, nil
}

// placeInTime is the place behind a row that a page ordered by time ended with; nil: the first page.
func placeInTime(text string) (*driver.Position, error) {
	after, err := driver.ParsePosition(text)
	if err != nil || after != nil && after.Value == nil {
		return nil, driver.ErrPage
	}
	return after, nil
}

// firstInTime gives the first rows of several lists by time, and where the next page begins;
// empty: these are all.
func firstInTime[R any](rows []*R, size int, place func(*R) (time.Time, int64)) ([]*R, string) {
	slices.SortFunc(rows, func(a, b *R) int {
		aOn, aID := place(a)
		bOn, bID := place(b)
		return cmp.Or(aOn.Compare(bOn), cmp.Compare(aID, bID))
	})
	if len(rows) <= size {
		return rows, ""
	}
	on, id := place(rows[size-1])
	return rows[:size], driver.Position{Value: on, ID: id}.String()
}

// oldRows lists the rows whose runs the old scheduler owns. They are never due here, so the
// guard's index by type and time finds them.
func (u *upcoming) oldRows(ctx context.Context) (out []Upcoming, next string, err error) {
	if strings.HasPrefix(u.page.After, expectedPages) {
		return nil, "", nil
	}
	var after *driver.Position
	if place, begun := strings.CutPrefix(u.page.After, oldPages); begun {
		if after, err = placeInTime(place); err != nil || after == nil {
			return nil, "", driver.ErrPage
		}
	}
	var runs []*ownership
	for _, kind := range u.guarded {
		some, err := ownerships.Find(ctx, u.r, u.scope, driver.Query{
			Where: []driver.Cond{
				driver.Eq("kind", kind), driver.AtLeast("run_on", u.from), driver.Less("run_on", u.until),
				driver.Eq("owner_type", cutover.OldScheduler), driver.Eq("status", cutover.Owned),
			},
			OrderBy: "run_on", After: after, Limit: u.page.Size() + 1,
		})
		if err != nil {
			return nil, "", err
		}
		runs = append(runs, some...)
	}
	runs, next = firstInTime(runs, u.page.Size(), func(o *ownership) (time.Time, int64) { return o.RunOn, o.ID })
	if next != "" {
		next = oldPages + next
	}
	rows, err := rowsOfRuns(ctx, u.r, u.scope, runs)
	for _, o := range runs {
		if row := rows[o.Key]; row != nil && row.inShadow() {
			out = append(out, Upcoming{Schedule: row.view(), OldScheduler: true})
		}
	}
	return out, next, err
}

// guardedTypes are the types with runs under the ownership guard. A process need not have
// them registered; one that has a type registered without the guard knows better.
func guardedTypes(ctx context.Context, r driver.Reader, scope Scope, known *registry) (types []string, err error) {
	for last := ""; ; {
		got, err := ownerships.CountBy(ctx, r, scope, driver.CountBy{
			By: []string{"kind"}, Where: []driver.Cond{driver.Greater("kind", last)}, OrderBy: "kind", Limit: 1,
		})
		if err != nil || len(got) == 0 {
			return types, err
		}
		if last = got[0].Row.Kind; known.guards(last) || !known.serves(last) {
			types = append(types, last)
		}
	}
}

// expected lists the later occurrences of series.
func (u *upcoming) expected(ctx context.Context) (out []Upcoming, next string, err error) {
	p := u.page
	after, begun := strings.CutPrefix(p.After, expectedPages)
	if p.After = after; !begun {
		p.After = ""
	}
	page, next, err := seriesTable.Page(ctx, u.r, u.scope, p, driver.Query{
		Where: []driver.Cond{driver.Eq("active", true), driver.Less("next_on", u.until)}, OrderBy: "next_on",
	})
	if err != nil {
		return nil, "", err
	}
	if next != "" {
		next = expectedPages + next
	}
	old, err := u.oldSeries(ctx, page)
	for _, d := range page {
		if err == nil {
			var more []Upcoming
			more, err = d.expected(driver.Now(u.r.Store()), u.from, u.until)
			for i := range more {
				more[i].OldScheduler = old[d]
			}
			out = append(out, more...)
		}
	}
	return out, next, err
}

// oldSeries says which series have occurrences that are the old scheduler's at the stage of
// their part.
func (u *upcoming) oldSeries(ctx context.Context, page []*series) (map[*series]bool, error) {
	parts := map[*series]cutover.Part{}
	for _, d := range page {
		if slices.Contains(u.guarded, d.Kind) {
			parts[d] = cutover.Part{Scope: d.Scope, Type: d.Kind, BusinessUnit: d.BusinessUnit, Source: d.Source}
		}
	}
	stages, err := loadStages(ctx, u.r, slices.Collect(maps.Values(parts)))
	old := map[*series]bool{}
	for d, part := range parts {
		old[d] = !stageRuns(stages.of(part), "")
	}
	return old, err
}

// expected are the occurrences behind the current one. There are none where this version
// cannot read the cadence; [Support] and Health tell of such a series.
func (d *series) expected(now, from, until time.Time) (out []Upcoming, err error) {
	line, err := d.timeline()
	if err != nil {
		return nil, nil //nolint:nilerr // see above
	}
	later := *d
	at := d.NextOn
	if before := from.Add(-time.Microsecond); before.After(at) {
		at = before
	}
	for len(out) < maxExpected {
		o, ok := line.After(at)
		if !ok || !o.On.Before(until) {
			break
		}
		later.moveTo(line, o, true)
		row, err := later.occurrence(now)
		if err != nil {
			return nil, err
		}
		out, at = append(out, Upcoming{Schedule: row.view(), Expected: true}), o.On
	}
	return out, nil
}
