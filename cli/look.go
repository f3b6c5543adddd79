package cli

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/report"
	"github.com/belfry-go/belfry/automation/settings"
	"github.com/belfry-go/belfry/internal/once"
	"github.com/belfry-go/belfry/internal/outbox"
	"github.com/belfry-go/belfry/internal/sweep"
	"github.com/belfry-go/belfry/internal/unserved"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/gate"
	"github.com/belfry-go/belfry/notify/templates"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/support"
	"github.com/belfry-go/belfry/survey"
)

var migrateCommand = &command{
	name: "migrate", does: "make the tables, or bring them up to date", migrates: true,
	says:  "Runs the missing migrations, each in one transaction. Safe to repeat, and while other programs run.",
	flags: func(*flags, *flag.FlagSet) {},
	run: func(c *call, ctx context.Context) error {
		n, err := c.checked(ctx)
		if err == nil {
			fmt.Fprintf(c.out, "%s are as this program needs them\n", plural(n, "table"))
		}
		return err
	},
}

var checkCommand = &command{
	name: "check", does: "compare the tables with those that this program needs",
	says:  "Compares every table, column and index with those that this program needs, and writes nothing. Exit code 3: something is missing or differs.",
	flags: func(*flags, *flag.FlagSet) {},
	run: func(c *call, ctx context.Context) error {
		n, err := c.checked(ctx)
		if err != nil {
			return err
		}
		fmt.Fprintf(c.out, "%s are as this program needs them\n", plural(n, "table"))
		return nil
	},
}

// checked compares the database with all of Belfry's tables.
func (c *call) checked(ctx context.Context) (tables int, err error) {
	all := slices.Concat(driver.Schemas(), notify.Schemas(), gate.Schemas(), templates.Schemas(), automation.Schemas(), settings.Schemas(),
		report.Schemas(), outbox.Schemas(), survey.Schemas(), sweep.Schemas(), unserved.Schemas(), once.Schemas())
	slices.SortFunc(all, func(a, b *driver.Schema) int { return strings.Compare(a.Name, b.Name) })
	all = slices.CompactFunc(all, func(a, b *driver.Schema) bool { return a.Name == b.Name })
	if db, ok := c.s.Store.(interface {
		CheckTables(context.Context, ...*driver.Schema) error
	}); ok {
		err = db.CheckTables(ctx, all...)
	}
	return len(all), err
}

var healthCommand = &command{
	name: "health", does: "what waits, and what needs attention",
	says: `Says how much is due and since when, and lists what needs attention by its cause, with
what to do. Exit code 3: something needs attention. Pauses and work without a handler are
listed, too; the latter only for the types that this program has.`,
	flags: func(f *flags, s *flag.FlagSet) { f.anywhere(s); f.asJSON(s) },
	run: func(c *call, ctx context.Context) error {
		health, err := c.health(ctx)
		if err != nil {
			return err
		}
		if c.flags.json {
			return cmp.Or(encode(c.out, health), waiting(health.Needs))
		}
		due := table{head: []string{"DOMAIN", "DUE", "KIND", "ROWS", "HELD", "OLDEST"}}
		for _, d := range health.Domains {
			for _, row := range d.Due {
				due.add(d.Domain, row.Table, row.Kind, atLeast(row.Rows, row.Capped), number(row.Held), moment(row.OldestOn))
			}
		}
		if len(due.rows) == 0 {
			fmt.Fprintln(c.out, "Nothing is due.")
		} else {
			due.print(c.out)
		}
		fmt.Fprintln(c.out)
		return c.printNeeds(health.Needs)
	},
}

// health leaves out the causes that only a program with the host's types knows.
func (c *call) health(ctx context.Context) (support.Health, error) {
	health, err := c.desk.Health(ctx, c.flags.reach())
	if c.s.Bare {
		health.Needs = slices.DeleteFunc(health.Needs, func(n support.Need) bool { return n.Kind == support.NeedUnserved && n.Reason == "" })
	}
	return health, err
}

// waiting is the exit of a query when something needs attention.
func waiting(needs []support.Need) error {
	if len(needs) == 0 {
		return nil
	}
	return &exit{code: ExitNeedsYou}
}

func (c *call) printNeeds(needs []support.Need) error {
	if len(needs) == 0 {
		fmt.Fprintln(c.out, "Nothing needs attention.")
		return nil
	}
	t := table{head: []string{"KIND", "ROWS", "SINCE", "TENANT", "TABLE", "CAUSE", "WHAT"}}
	for _, n := range needs {
		rows := ""
		if n.Rows > 0 {
			rows = atLeast(n.Rows, n.Capped)
		}
		t.add(string(n.Kind), rows, moment(n.Since), string(n.Scope), n.Table, cmp.Or(n.Reason, n.Name), n.What)
	}
	t.print(c.out)
	fmt.Fprintln(c.out)
	for _, n := range needs {
		if n.ToDo != "" {
			fmt.Fprintf(c.out, "%s: %s\n", printable(cmp.Or(n.Reason, n.Name, n.Table)), printable(n.ToDo))
		}
	}
	return waiting(needs)
}

func number(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// atLeast prints a number that may be higher.
func atLeast(n int, capped bool) string {
	if capped {
		return fmt.Sprint(n, "+")
	}
	return fmt.Sprint(n)
}

var holdsCommand = &command{
	name: "holds", does: "what waits for a person, by cause; the rows of one",
	says: `Lists what waits for a person by its cause. With -table and -cause, as that list has them,
it lists the rows of one cause. Release, retry, cancel and resolve take their targets. Exit
code 3: something waits.`,
	flags: func(f *flags, s *flag.FlagSet) {
		s.StringVar(&f.table, "table", "", "rows of this `table`")
		s.StringVar(&f.cause, "cause", "", "that wait for this `cause`, as the list has it")
		f.anywhere(s)
		f.pages(s)
		f.asJSON(s)
	},
	run: func(c *call, ctx context.Context) error {
		if c.flags.table == "" && c.flags.cause == "" {
			health, err := c.health(ctx)
			switch {
			case err != nil:
				return err
			case c.flags.json:
				return cmp.Or(encode(c.out, health.Needs), waiting(health.Needs))
			}
			return c.printNeeds(health.Needs)
		}
		if c.flags.table == "" || c.flags.cause == "" || c.flags.everywhere {
			return usage("-table and -cause go together, in one tenant")
		}
		rows, next, err := c.desk.Waiting(ctx, c.flags.tenant(), c.flags.need(), c.flags.page())
		if err != nil {
			return err
		}
		if err = c.listed(rows, next, nil); err == nil && len(rows) > 0 {
			err = &exit{code: ExitNeedsYou}
		}
		return err
	},
}

func (c *call) printNext(after string) {
	if after != "" {
		fmt.Fprintf(c.out, "\nMore: -after %s\n", after)
	}
}

// printEntries prints rows, one line each, with what to do beneath.
func (c *call) printEntries(rows []support.Entry) {
	t := table{head: []string{"ON", "OUTCOME", "WHAT", "BY", "TO", "TARGET"}}
	for _, e := range rows {
		t.add(moment(e.On), string(e.Outcome), e.What, e.Channel, strings.TrimSpace(e.Person+" "+e.Address), target(e.Kind, e.Key))
	}
	if len(rows) == 0 {
		fmt.Fprintln(c.out, "Nothing.")
		return
	}
	t.print(c.out)
}

var personCommand = &command{
	name: "person", args: "[PERSON]", does: "what a person or an entity got or not, and what is planned",
	says: `Says why a person got something or did not: what is planned, and what happened, the newest
first. PERSON is your id of the person. Erased and deleted rows are not shown. The output has
personal data: do not share it.`,
	flags: func(f *flags, s *flag.FlagSet) {
		s.Var(&f.addresses, "address", "messages to this `address` that name no person, as in email:sam@example.com")
		s.StringVar(&f.entity, "entity", "", "the entity that reminders are about, `TYPE:ID`, as in employee:17")
		f.inScope(s)
		f.pages(s)
		f.asJSON(s)
	},
	run: func(c *call, ctx context.Context) error {
		about, err := c.about()
		if err != nil {
			return err
		}
		return c.tell(ctx, about)
	},
}

// tell prints what happened about something, and what is planned.
func (c *call) tell(ctx context.Context, about support.About) error {
	story, err := c.desk.Story(ctx, c.flags.tenant(), about, c.flags.page())
	if err != nil {
		return err
	}
	if c.flags.json {
		return encode(c.out, story)
	}
	c.printStory(story)
	return nil
}

// about is the subject of a timeline.
func (c *call) about() (about support.About, err error) {
	f := &c.flags
	if about.Person, err = f.alone("person"); err != nil {
		return about, err
	}
	if f.entity != "" {
		if about.Entity, err = entity(f.entity); err != nil {
			return about, err
		}
	}
	if len(f.addresses) > 1 {
		return about, usage("give one address")
	}
	if len(f.addresses) == 1 {
		if c.s.Bare {
			return about, c.elsewhere("addresses are stored as hashes, and this program does not have the HashKey")
		}
		about.Address, err = address(f.addresses[0])
	}
	return about, err
}

func (c *call) printStory(s support.Story) {
	if s.Name != "" {
		fmt.Fprintf(c.out, "%s\n\n", printable(s.Name))
	}
	if len(s.Next) > 0 {
		fmt.Fprintln(c.out, "To come:")
		c.printEntries(s.Next)
		if s.MoreNext {
			fmt.Fprintln(c.out, "… and more")
		}
		fmt.Fprintln(c.out)
	}
	fmt.Fprintln(c.out, "So far, the newest first:")
	c.printEntries(s.Past)
	for _, e := range s.Past {
		if e.ToDo != "" || len(e.Steps) > 0 {
			fmt.Fprintf(c.out, "\n%s\n", printable(target(e.Kind, e.Key)))
			if e.ToDo != "" {
				fmt.Fprintf(c.out, "    to do: %s\n", printable(e.ToDo))
			}
			for _, step := range e.Steps {
				fmt.Fprintf(c.out, "    %s  %s\n", moment(step.On), printable(strings.TrimSpace(step.What+" "+step.Actor+" "+step.Detail)))
			}
		}
	}
	for _, p := range s.Consent {
		word := "wants"
		if p.OptedOut {
			word = "does not want"
		}
		what := strings.Join(slices.DeleteFunc([]string{p.Type, p.Group, p.Method}, func(s string) bool { return s == "" }), ", ")
		if what == "" {
			what = "any message"
		}
		fmt.Fprintf(c.out, "\n%s %s, since %s\n", word, printable(what), moment(p.Since))
	}
	c.printNext(s.After)
}
