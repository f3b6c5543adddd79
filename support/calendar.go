package support

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/belfry-go/belfry/health"
	"github.com/belfry-go/belfry/internal/civil"
)

// Day lists what is planned for one day. Gates have not been checked yet.
type Day struct {
	On   time.Time // when it begins
	Rows []Coming
}

// Coming is the work of one type that is due on a day, or the waiting messages of one
// channel.
type Coming struct {
	Domain, Table, Kind string
	Rows                int
	First               time.Time // the first of them
}

// MaxDays is the limit of days of a [Desk.Calendar].
const MaxDays = 31

// Calendar counts what a scope sends on each of the next days in a zone, today first,
// including empty days. It counts the first 10,000 rows of each lane, of all scopes
// together. more says that there are others, so later days may have more.
func (d *Desk) Calendar(ctx context.Context, scope Scope, zone *time.Location, days int) (out []Day, more bool, err error) {
	if days < 1 || days > MaxDays {
		return nil, false, fmt.Errorf("support: Calendar: %w: %d days, not 1 to %d", ErrAbout, days, MaxDays)
	}
	now := d.now()
	var end time.Time
	for i, today := 0, civil.DateOf(now, zone); i <= days; i++ {
		if end, err = today.AddDays(i).Start(zone); err != nil {
			return nil, false, fmt.Errorf("support: Calendar: %w", err)
		}
		out = append(out, Day{On: end.In(zone)})
	}
	out = out[:days]
	for _, of := range d.domains() {
		found, others, err := of.coming(ctx, scope, now, end.Add(-time.Microsecond))
		if err != nil {
			return nil, false, fmt.Errorf("support: Calendar: %w", err)
		}
		more = more || others
		for _, due := range found {
			next := slices.IndexFunc(out, func(day Day) bool { return due.OldestOn.Before(day.On) })
			if next < 0 {
				next = len(out)
			}
			out[next-1].add(of.name, due)
		}
	}
	for _, day := range out {
		slices.SortFunc(day.Rows, func(a, b Coming) int {
			if c := a.First.Compare(b.First); c != 0 {
				return c
			}
			return strings.Compare(a.Table+a.Kind, b.Table+b.Kind)
		})
	}
	return out, more, nil
}

func (d *Day) add(domain string, due health.Due) {
	at := slices.IndexFunc(d.Rows, func(c Coming) bool { return c.Table == due.Table && c.Kind == due.Kind })
	if at < 0 {
		d.Rows = append(d.Rows, Coming{Domain: domain, Table: due.Table, Kind: due.Kind, Rows: due.Rows, First: due.OldestOn})
		return
	}
	d.Rows[at].Rows += due.Rows
	if due.OldestOn.Before(d.Rows[at].First) {
		d.Rows[at].First = due.OldestOn
	}
}

// What names the work for people.
func (c Coming) What() string {
	if c.Rows == 1 {
		return rowOf(c.Table) + ofKind(c.Table, c.Kind)
	}
	return rowsOf(c.Table) + ofKind(c.Table, c.Kind)
}

// ofKind is which of the rows of a table: links have no kinds.
func ofKind(table, kind string) string {
	if table == "survey_instance" {
		return ""
	}
	return " of " + kind
}
