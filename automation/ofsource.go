package automation

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// ofSource are the ranges that the keys of all rows of a source are in, ended ones too: one
// for each setting that has rows, one for each type of a host's, and one for runs of a
// report. To find them takes a statement for each, and rows pay nothing for it when they
// are written: an index over all rows by their source took a tenth off the rates of claims
// and of inserts.
func ofSource(ctx context.Context, from driver.Reader, scope Scope, source Source) (ranges [][]driver.Cond, err error) {
	add := func(prefix string) {
		ranges = append(ranges, append(startingWith(prefix), driver.Eq("source_type", source.Type), driver.Eq("source", source.ID)))
	}
	add("report-subscription:" + source.ID + ":")
	for _, format := range []string{"reminder:", "host:"} {
		for rest := startingWith(format); ; {
			rows, err := schedules.Find(ctx, from, scope, driver.Query{Columns: []string{"key"}, Where: rest, OrderBy: "key", Limit: 1})
			if err != nil {
				return nil, err
			}
			if len(rows) == 0 {
				break
			}
			first, _, _ := strings.Cut(strings.TrimPrefix(rows[0].Key, format), ":") // a setting, or a type
			add(format + first + ":" + source.Type + ":" + source.ID + ":")
			rest = []driver.Cond{driver.AtLeast("key", behind(format+first+":")), driver.Less("key", behind(format))}
		}
	}
	return ranges, nil
}

// startingWith holds for the keys that begin with a prefix which ends with a colon.
func startingWith(prefix string) []driver.Cond {
	return []driver.Cond{driver.AtLeast("key", prefix), driver.Less("key", behind(prefix))}
}

// behind is less than all keys that come after those which begin with such a prefix.
func behind(prefix string) string { return strings.TrimSuffix(prefix, ":") + ";" } // ';' follows ':'

// among is a page of the rows in several ranges, by their moment as q says.
func among(ctx context.Context, from driver.Reader, scope Scope, ranges [][]driver.Cond, p storage.Page, q driver.Query) (rows []*scheduleRow, next string, err error) {
	q.OrderBy, q.Limit = "scheduled_on", p.Size()+1
	if q.After, err = driver.ParsePosition(p.After); err != nil {
		return nil, "", err
	}
	if q.After != nil && q.After.Value == nil {
		return nil, "", fmt.Errorf("%w: it is of another list", storage.ErrPage)
	}
	where := q.Where
	for _, r := range ranges {
		q.Where = slices.Concat(where, r)
		some, err := schedules.Find(ctx, from, scope, q)
		if err != nil {
			return nil, "", err
		}
		rows = append(rows, some...)
	}
	slices.SortFunc(rows, func(a, b *scheduleRow) int {
		if q.Desc {
			a, b = b, a
		}
		return cmp.Or(a.ScheduledOn.Compare(b.ScheduledOn), cmp.Compare(a.ID, b.ID))
	})
	if len(rows) > p.Size() {
		rows = rows[:p.Size()]
		last := rows[len(rows)-1]
		next = driver.Position{Value: last.ScheduledOn, ID: last.ID}.String()
	}
	return rows, next, nil
}
