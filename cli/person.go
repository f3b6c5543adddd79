package cli

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/belfry-go/belfry"
)

var exportCommand = &command{
	name: "export", args: "[PERSON]", does: "all that is known of a person",
	says: `Writes what is known of a person: a line of JSON for each row, {"table": …, "row": {…}}.
PERSON is the host's id; those who are known by an address alone have -address. It needs
the host's keys and hooks.`,
	flags: named,
	run: func(c *call, ctx context.Context) error {
		who, err := c.somebody()
		if err != nil {
			return err
		}
		return c.s.Poller.Privacy().Export(ctx, c.out, c.flags.tenant(), who)
	},
}

var eraseCommand = &command{
	name: "erase", args: "[PERSON]", does: "erase a person",
	says: `Removes what is known of a person, in all tables and blobs: nothing more is sent to them,
what waits is cancelled, and rows are deleted, or emptied where their keys must go on to
answer. This cannot be undone. What a provider is called for at that moment is erased an
hour later, by a Poller. PERSON is the host's id; give their addresses and inboxes, too.
Keep a list of whom you erased (docs/operations.md). It needs the host's keys and hooks.`,
	flags: func(f *flags, s *flag.FlagSet) {
		named(f, s)
		f.acts(s)
		f.asJSON(s)
	},
	run: func(c *call, ctx context.Context) error {
		who, err := c.somebody()
		if err != nil {
			return err
		}
		by, err := c.flags.by()
		if err != nil {
			return err
		}
		privacy := c.s.Poller.Privacy()
		var report belfry.ErasureReport
		if c.flags.yes {
			report, err = privacy.Erase(ctx, c.flags.tenant(), who, by)
		} else {
			report, err = privacy.Preview(ctx, c.flags.tenant(), who)
		}
		switch {
		case err != nil && report.ID != "":
			return fmt.Errorf("%w; the erasure %s is stored, and a Poller goes on with it", err, report.ID)
		case err != nil:
			return err
		case c.flags.json:
			err = encode(c.out, report)
		default:
			c.printErasure(report)
		}
		if err == nil && !c.flags.yes {
			err = errNotDone
		}
		return err
	},
}

func named(f *flags, s *flag.FlagSet) {
	s.Var(&f.addresses, "address", "an `address` of theirs, as in email:sam@example.com; again for each")
	s.Var(&f.inboxes, "inbox", "an `inbox` of theirs, as in user:17; again for each")
	f.inScope(s)
}

// somebody is whom the arguments name.
func (c *call) somebody() (who belfry.Person, err error) {
	if c.s.Poller == nil || c.s.Bare {
		return who, c.elsewhere("the host's keys, hooks and services are not here, without which something of a person would be left")
	}
	who.Inboxes = c.flags.inboxes
	if who.Ref, err = c.flags.alone("person"); err != nil {
		return who, err
	}
	for _, text := range c.flags.addresses {
		a, err := address(text)
		if err != nil {
			return who, err
		}
		who.Addresses = append(who.Addresses, belfry.PersonAddress{Method: a.Method, Address: a.Address})
	}
	if err := who.Check(); err != nil {
		return who, usage("%v", err)
	}
	return who, nil
}

func (c *call) printErasure(r belfry.ErasureReport) {
	t := table{head: []string{"TABLE", "DELETED", "EMPTIED", "CUT"}}
	for _, name := range slices.Sorted(maps.Keys(r.Tables)) {
		if n := r.Tables[name]; n.Any() {
			t.add(name, number(n.Deleted), number(n.Emptied), number(n.Cut))
		}
	}
	if len(t.rows) == 0 {
		fmt.Fprintln(c.out, "Nothing is known of this person.")
	} else {
		t.print(c.out)
	}
	if r.Waiting > 0 {
		fmt.Fprintf(c.out, "\n%s with a worker now\n", plural(r.Waiting, "row"))
	}
	if r.ID != "" {
		fmt.Fprintf(c.out, "\nerasure %s: %s; looked for again on %s\n", r.ID, r.Status, moment(r.NextOn))
	}
	fmt.Fprint(c.out, "\nWhat stays:\n")
	for _, k := range r.Kept {
		fmt.Fprintf(c.out, "    %s: %s\n", strings.TrimSuffix(k.Table+"."+k.Column, "."), k.Why)
	}
}
