package automation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

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
}

// maxExpected is how many occurrences of a series one page has.
const maxExpected = 31

// expectedPages begins the place of a page of expected occurrences, which follow the rows.
const expectedPages = "expected "

// Upcoming lists what is planned in a scope from one moment until before another: who gets
// what, and when. First come the rows, the next due first, then the later occurrences of
// series, of each at most the first 31 of the span. Rows on hold are in [Support.Held]. A
// page has p.Limit rows, and the occurrences of as many series; it says where the next one
// begins; empty after the last. A row that is new or moves between two pages may be missed
// or come twice. An After of the caller's own making is [storage.ErrPage].
func (s Support) Upcoming(ctx context.Context, scope Scope, from, until time.Time, p storage.Page) (out []Upcoming, next string, err error) {
	if !from.Before(until) {
		return nil, "", errors.New("automation: Upcoming: until is not after from")
	}
	err = s.read(ctx, func(r driver.Reader) (err error) {
		out, next, err = upcomingRows(ctx, r, scope, from, until, p)
		if err != nil || next != "" {
			return err
		}
		var expected []Upcoming
		expected, next, err = expectedIn(ctx, r, scope, from, until, p)
		out = append(out, expected...)
		return err
	})
	if err != nil {
		return nil, "", fmt.Errorf("automation: Upcoming: %w", err)
	}
	return out, next, nil
}

// upcomingRows reads each lane in the order of the index that polls walk: an index of its own
// would cost each reminder that is made.
func upcomingRows(ctx context.Context, r driver.Reader, scope Scope, from, until time.Time, p storage.Page) (out []Upcoming, next string, err error) {
	if strings.HasPrefix(p.After, expectedPages) {
		return nil, "", nil
	}
	after, err := driver.ParsePosition(p.After)
	if err != nil || after != nil && after.Value == nil {
		return nil, "", driver.ErrPage
	}
	lanes, _, err := backlog.LanesOf(ctx, r, &schedules.Schema)
	if err != nil {
		return nil, "", err
	}
	var rows []*scheduleRow
	for _, lane := range lanes {
		some, err := schedules.Find(ctx, r, scope, driver.Query{
			Where:   []driver.Cond{driver.Eq("lane", int64(lane)), driver.AtLeast("due_on", from), driver.Less("due_on", until)},
			OrderBy: "due_on", After: after, Limit: p.Size() + 1,
		})
		if err != nil {
			return nil, "", err
		}
		rows = append(rows, some...)
	}
	slices.SortFunc(rows, func(a, b *scheduleRow) int { return cmp.Or(a.DueOn.Compare(b.DueOn), cmp.Compare(a.ID, b.ID)) })
	if len(rows) > p.Size() {
		rows = rows[:p.Size()]
		last := rows[len(rows)-1]
		next = driver.Position{Value: last.DueOn, ID: last.ID}.String()
	}
	for _, row := range views(rows) {
		out = append(out, Upcoming{Schedule: row})
	}
	return out, next, nil
}

func expectedIn(ctx context.Context, r driver.Reader, scope Scope, from, until time.Time, p storage.Page) (out []Upcoming, next string, err error) {
	after, begun := strings.CutPrefix(p.After, expectedPages)
	if p.After = after; !begun {
		p.After = ""
	}
	page, next, err := seriesTable.Page(ctx, r, scope, p, driver.Query{
		Where: []driver.Cond{driver.Eq("active", true), driver.Less("next_on", until)}, OrderBy: "next_on",
	})
	if next != "" {
		next = expectedPages + next
	}
	for _, d := range page {
		if err == nil {
			var more []Upcoming
			more, err = d.expected(driver.Now(r.Store()), from, until)
			out = append(out, more...)
		}
	}
	return out, next, err
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
