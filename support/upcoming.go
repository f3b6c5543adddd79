package support

import (
	"context"
	"fmt"
	"time"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/storage"
)

// Upcoming lists the reminders and reports of a scope that are planned in a period, like
// [automation.Support.Upcoming], and returns where the next page begins; empty after the
// last. Later occurrences of a series have no Key yet. With names the Directory is asked
// for each person of the page.
func (d *Desk) Upcoming(ctx context.Context, scope Scope, from, until time.Time, names bool, p storage.Page) (out []Entry, next string, err error) {
	if d.o.Automation == nil {
		return nil, "", nil
	}
	rows, next, err := d.o.Automation.Support().Upcoming(ctx, scope, from, until, p)
	if err != nil {
		return nil, "", fmt.Errorf("support: Upcoming: %w", err)
	}
	known := map[string]string{}
	for i := range rows {
		e := d.upcoming(&rows[i])
		if name, is := known[e.Person]; is || e.Person == "" || !names {
			e.Name = name
		} else {
			who, err := (teller{d.core}).person(ctx, scope, e.Person)
			if err != nil {
				return nil, "", fmt.Errorf("support: Upcoming: %w", err)
			}
			e.Name, known[e.Person] = who.Name, who.Name
		}
		out = append(out, e)
	}
	return out, next, nil
}

func (c *core) upcoming(u *automation.Upcoming) Entry {
	e := c.reminder(&u.Schedule)
	if u.Expected {
		e.Key, e.Can = "", nil
		e.What = e.Title() + ": planned once the previous one has gone out"
	}
	return e
}
