package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/belfry-go/belfry"
)

var exportCommand = &command{
	name: "export", args: "[PERSON]", does: "export all that is stored about a person",
	says: `Writes what is stored about a person: a line of JSON for each row, {"table": …, "row": {…}}.
PERSON is your id of the person. Use -address for people who are known by an address alone.
It needs your program's keys and hooks.`,
	flags: named,
	run: func(c *call, ctx context.Context) error {
		who, err := c.subject()
		if err != nil {
			return err
		}
		return c.s.Poller.Privacy().Export(ctx, c.out, c.flags.tenant(), who)
	},
}

var eraseCommand = &command{
	name: "erase", args: "[PERSON]", does: "erase a person",
	says: `Removes what is stored about a person, in all tables and blobs. Nothing more is sent to them,
waiting messages are cancelled, and rows are deleted, or anonymised where their keys are still
needed. This cannot be undone. A message whose provider is being called is erased an hour
later, by a Poller. PERSON is your id of the person; give their addresses and inboxes, too.
With -list they are added to a file, for reapply: keep it outside the database, encrypted. It
needs your program's keys and hooks.`,
	flags: func(f *flags, s *flag.FlagSet) {
		named(f, s)
		f.acts(s)
		f.asJSON(s)
		s.StringVar(&f.file, "list", "", "add them to the list in this `file`")
	},
	run: func(c *call, ctx context.Context) error {
		who, err := c.subject()
		if err != nil {
			return err
		}
		by, err := c.flags.by()
		if err != nil {
			return err
		}
		var report belfry.ErasureReport
		if c.flags.yes {
			report, err = c.erase(ctx, belfry.Erasure{Scope: c.flags.tenant(), Person: who}, by)
		} else {
			report, err = c.s.Poller.Privacy().Preview(ctx, c.flags.tenant(), who)
		}
		switch {
		case err != nil && report.ID != "":
			return fmt.Errorf("%w; the erasure %s is stored, and a Poller will finish it", err, report.ID)
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

// erase erases a person. If there is a list, it adds them as soon as it is certain that
// they will be erased.
func (c *call) erase(ctx context.Context, e belfry.Erasure, by belfry.By) (report belfry.ErasureReport, err error) {
	listed := io.Discard
	if c.flags.file != "" {
		var file *os.File
		if file, err = os.OpenFile(c.flags.file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err != nil {
			return report, err
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		listed = file
	}
	report, err = c.s.Poller.Privacy().Erase(ctx, e.Scope, e.Person, by)
	if report.ID != "" {
		if unlisted := json.NewEncoder(listed).Encode(e); unlisted != nil {
			err = errors.Join(err, fmt.Errorf("the person is erased but not on the list; add them by hand: %w", unlisted))
		}
	}
	return report, err
}

var reapplyCommand = &command{
	name: "reapply", args: "FILE", does: "erase the people of a list again, after a restore",
	says: `Erases all people on a list once more, in a database that was restored from a backup, before
Pollers run. FILE has one person a line, as erase -list writes them:
{"scope": "acme", "person": {"ref": "17"}}. It needs your program's keys and hooks.`,
	flags: func(f *flags, s *flag.FlagSet) { f.acts(s) },
	run: func(c *call, ctx context.Context) error {
		if c.s.Poller == nil || c.s.Bare {
			return c.elsewhere(wholePerson)
		}
		name, err := c.flags.alone("file")
		if err != nil {
			return err
		}
		by, err := c.flags.by()
		if err != nil {
			return err
		}
		list, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if !c.flags.yes {
			n, err := listed(list)
			if err != nil {
				return err
			}
			fmt.Fprintf(c.out, "%s on the list\n", plural(n, "erasure"))
			return errNotDone
		}
		n, err := c.s.Poller.Privacy().Reapply(ctx, bytes.NewReader(list), by)
		fmt.Fprintf(c.out, "%s applied again\n", plural(n, "erasure"))
		return err
	},
}

// listed counts the entries of a list. Its errors name no person.
func listed(list []byte) (n int, err error) {
	for lines := json.NewDecoder(bytes.NewReader(list)); ; n++ {
		var e belfry.Erasure
		err := lines.Decode(&e)
		switch {
		case errors.Is(err, io.EOF):
			return n, nil
		case err != nil:
			return n, fmt.Errorf("number %d is not an Erasure in JSON", n+1)
		}
		if err := e.Person.Check(); err != nil {
			return n, fmt.Errorf("number %d: %w", n+1, err)
		}
	}
}

// wholePerson says why the command needs the host's program.
const wholePerson = "this program lacks your keys, hooks and services, without which data of the person would remain"

func named(f *flags, s *flag.FlagSet) {
	s.Var(&f.addresses, "address", "an `address` of theirs, as in email:sam@example.com; again for each")
	s.Var(&f.inboxes, "inbox", "an `inbox` of theirs, as in user:17; again for each")
	f.inScope(s)
}

// subject is the person that the arguments name.
func (c *call) subject() (who belfry.Person, err error) {
	if c.s.Poller == nil || c.s.Bare {
		return who, c.elsewhere(wholePerson)
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
		fmt.Fprintln(c.out, "Nothing is stored about this person.")
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
