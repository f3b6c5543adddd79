package support

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
)

// Upcoming lists the reminders and reports of a scope that are planned in a period, like
// [automation.Support.Upcoming], and returns where the next page begins; empty after the
// last. Later occurrences of a series have no Key yet. What the old scheduler owns has the
// reason [reasons.Shadow] and no action. With names the Directory is asked for each person of
// the page.
func (d *Desk) Upcoming(ctx context.Context, scope Scope, from, until time.Time, names bool, p storage.Page) (out []Entry, next string, err error) {
	if d.o.Automation == nil {
		return nil, "", nil
	}
	rows, next, err := d.o.Automation.Support().Upcoming(ctx, scope, from, until, p)
	if err != nil {
		return nil, "", fmt.Errorf("support: Upcoming: %w", err)
	}
	for i := range rows {
		out = append(out, d.upcoming(&rows[i]))
	}
	if err := d.name(ctx, scope, out, names); err != nil {
		return nil, "", fmt.Errorf("support: Upcoming: %w", err)
	}
	return out, next, nil
}

// Withheld lists the reminders and reports of a scope that were planned in a period and have
// ended without a message, the last first, like [automation.Support.Withheld]. With names the
// Directory is asked for each person of the page.
func (d *Desk) Withheld(ctx context.Context, scope Scope, from, until time.Time, names bool, p storage.Page) ([]Entry, string, error) {
	if d.o.Automation == nil {
		return nil, "", nil
	}
	p.Limit = cmp.Or(max(p.Limit, 0), DefaultPage)
	out, next, err := paged(func(ctx context.Context, p storage.Page) ([]automation.Schedule, string, error) {
		return d.o.Automation.Support().Withheld(ctx, scope, from, until, p)
	}, d.reminder)(ctx, p)
	if err == nil {
		err = d.name(ctx, scope, out, names)
	}
	if err != nil {
		return nil, "", fmt.Errorf("support: Withheld: %w", err)
	}
	return out, next, nil
}

// name asks the Directory for the person of each entry, if it shall, each once.
func (c *core) name(ctx context.Context, scope Scope, entries []Entry, shall bool) error {
	known := map[string]string{}
	for i := range entries {
		e := &entries[i]
		if e.Person == "" || !shall {
			continue
		}
		name, is := known[e.Person]
		if !is {
			who, err := (teller{c}).person(ctx, scope, e.Person)
			if err != nil {
				return err
			}
			name = who.Name
			known[e.Person] = name
		}
		e.Name = name
	}
	return nil
}

func (c *core) upcoming(u *automation.Upcoming) Entry {
	e := c.reminder(&u.Schedule)
	if u.Expected {
		e.Key, e.Can = "", nil
		e.What = e.Title() + ": planned once the previous one has gone out"
	}
	if u.OldScheduler { // its row has ended here
		e.Outcome, e.Reason, e.Can, e.NextOn, e.withdrawn = Planned, reasons.Shadow, nil, time.Time{}, time.Time{}
		e.settle()
		e.What = e.Title() + ": the previous scheduler sends it on " + moment(e.On)
	}
	return e
}
