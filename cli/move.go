package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"time"

	"github.com/belfry-go/belfry/tenant"
)

var moveCommand = &command{
	name: "move", does: "move a tenant to another database",
	says: `Moves all rows of a tenant to the database of -to, which has the tables (migrate makes
them): to a second server, or from SQLite to PostgreSQL. Programs may run if they ask
tenant.PhaseOf before they write for a tenant; else stop those that write for it. What has
ended is copied first; then the tenant is held, the rest is copied, and every row is
compared. After the switch the rows are removed here. If it is cut off, run it again: it
goes on. -undo gives it up, until the switch. Start the programs of the tenant with the new
database then.`,
	flags: func(f *flags, s *flag.FlagSet) {
		s.StringVar(&f.target, "to", "", "the other `database`, as -dsn names this one")
		s.DurationVar(&f.wait, "wait", 0, "how `long` running programs take to notice that the tenant is held")
		s.BoolVar(&f.undo, "undo", false, "give up a move that has not switched")
		f.inScope(s)
		f.acts(s)
		f.asJSON(s)
	},
	run: func(c *call, ctx context.Context) (err error) {
		f := &c.flags
		switch {
		case c.app.OpenStore == nil:
			return c.elsewhere("it opens no other database")
		case f.target == "":
			return usage("-to is required")
		}
		by, err := f.by()
		if err != nil {
			return err
		}
		to, closes, err := c.app.OpenStore(ctx, f.target)
		if err != nil {
			return fmt.Errorf("-to: %w", err)
		}
		defer func() { err = errors.Join(err, closes()) }()
		m := tenant.Move{From: c.s.Store, To: to, Scope: f.tenant(), By: by, Hold: func(ctx context.Context) error {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-c.s.Store.Clock().After(f.wait):
				return nil
			}
		}}
		return c.move(ctx, m)
	},
}

func (c *call) move(ctx context.Context, m tenant.Move) error {
	f := &c.flags
	if f.undo && f.yes {
		return refusedMove(m.Undo(ctx))
	}
	does, word := m.Run, "moved"
	if !f.yes {
		does, word = m.Preview, "would be moved"
	}
	report, err := does(ctx)
	if err != nil && len(report.Left) == 0 {
		return refusedMove(err)
	}
	if f.json {
		err = errors.Join(err, encode(c.out, report))
	} else {
		c.printMove(report, word)
	}
	if err == nil && !f.yes {
		err = errNotDone
	}
	return refusedMove(err)
}

func (c *call) printMove(r tenant.Report, word string) {
	t := table{head: []string{"TABLE", "ROWS"}}
	rows := 0
	for _, n := range r.Tables {
		t.add(n.Table, number(n.Rows))
		rows += n.Rows
	}
	if rows > 0 {
		t.print(c.out)
	}
	fmt.Fprintf(c.out, "%s %s", plural(rows, "row"), word)
	if r.Held > 0 {
		fmt.Fprintf(c.out, "; the tenant was held for %s", r.Held.Round(time.Millisecond))
	}
	fmt.Fprintln(c.out)
	if r.Phase != "" {
		fmt.Fprintf(c.out, "phase: %s\n", r.Phase)
	}
}

// refusedMove gives a refusal its exit code.
func refusedMove(err error) error {
	if errors.Is(err, tenant.ErrRefused) || errors.Is(err, tenant.ErrLeft) {
		return &exit{ExitRefused, err.Error()}
	}
	return err
}
