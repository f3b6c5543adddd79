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

// Day is what goes out on one day, as it is planned now. The gates have not been asked yet.
type Day struct {
	On   time.Time // when it begins
	Rows []Coming
}

// Coming is what falls due of one type on a day, or of one channel where messages wait.
type Coming struct {
	Domain, Table, Kind string
	Rows                int
	First               time.Time // the first of them
}

// MaxDays bounds a [Desk.Calendar].
const MaxDays = 31

// Calendar counts what goes out of a scope on each of so many days of a zone from now on,
// today first; days on which nothing does are in it. Each count stands on the first 10,000
// rows of a lane of all scopes: more says that there are others, so that later days may have
// more.
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

// What is what it is of, for people.
func (c Coming) What() string { return rowsOf(c.Table) + ofKind(c.Table, c.Kind) }

// ofKind is which of the rows of a table: links have no kinds.
func ofKind(table, kind string) string {
	if table == "survey_instance" {
		return ""
	}
	return " of " + kind
}
