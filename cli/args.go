package cli

import (
	"flag"
	"fmt"
	"strings"
	"time"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/support"
)

// flags holds the flags of all commands; each command takes some of them.
type flags struct {
	args []string // what is not a flag

	json       bool
	scope      string
	everywhere bool
	limit      int
	after      string

	yes           bool
	actor, reason string

	entity                              string
	addresses, inboxes                  list
	table, cause                        string
	decision                            string
	domain, typ, channel, setting, unit string
	until, since, from, to, state       string
	ownAccount                          bool
	locale                              string
	list                                bool
	file                                string
}

// list is a flag that may be repeated.
type list []string

func (l *list) String() string { return strings.Join(*l, ", ") }

func (l *list) Set(s string) error {
	*l = append(*l, s)
	return nil
}

func (f *flags) asJSON(s *flag.FlagSet) {
	s.BoolVar(&f.json, "json", false, "answer in JSON, for programs")
}

func (f *flags) inScope(s *flag.FlagSet) {
	s.StringVar(&f.scope, "scope", "", "the `tenant`; empty in a program with one tenant")
}

func (f *flags) anywhere(s *flag.FlagSet) {
	f.inScope(s)
	s.BoolVar(&f.everywhere, "everywhere", false, "all tenants")
}

func (f *flags) pages(s *flag.FlagSet) {
	s.IntVar(&f.limit, "limit", 20, "at most `n` rows, 1 to 1000")
	s.StringVar(&f.after, "after", "", "continue at the `place` that the last page named")
}

func (f *flags) acts(s *flag.FlagSet) {
	s.BoolVar(&f.yes, "yes", false, "do it; without it, a dry run says what would be done")
	s.StringVar(&f.actor, "actor", "", "`who` acts, for the audit")
	s.StringVar(&f.reason, "reason", "", "`why`, for the audit; without personal data")
}

// parse reads the flags of the command, before and behind its arguments.
func (c *call) parse(args []string) error {
	set := c.flagSet(c.command.name, c.helpOf)
	c.command.flags(&c.flags, set)
	for {
		if err := parse(set, args); err != nil {
			return err
		}
		rest := set.Args()
		if len(rest) == 0 || len(args) > len(rest) && args[len(args)-len(rest)-1] == "--" {
			c.flags.args = append(c.flags.args, rest...)
			break
		}
		c.flags.args, args = append(c.flags.args, rest[0]), rest[1:]
	}
	if c.flags.limit < 0 || c.flags.limit > 1000 || set.Lookup("limit") != nil && c.flags.limit == 0 {
		return usage("-limit is %d, but must be 1 to 1000", c.flags.limit)
	}
	if c.flags.everywhere && c.flags.scope != "" {
		return usage("-scope and -everywhere cannot be combined")
	}
	if c.command.args == "" && len(c.flags.args) > 0 {
		return usage("it takes no arguments, but got %.40q", c.flags.args[0])
	}
	return nil
}

func (f *flags) tenant() storage.Scope { return storage.Scope(f.scope) }

func (f *flags) reach() storage.ScopeFilter {
	if f.everywhere {
		return storage.Everywhere()
	}
	return storage.Within(f.tenant())
}

func (f *flags) page() storage.Page { return storage.Page{After: f.after, Limit: f.limit} }

// by is who acts and why; a dry run may leave both out.
func (f *flags) by() (support.By, error) {
	by := support.By{Actor: f.actor, Reason: f.reason}
	if !f.yes {
		if by.Actor == "" {
			by.Actor = "dry run"
		}
		if by.Reason == "" {
			by.Reason = "a dry run"
		}
		return by, nil
	}
	if by.Actor == "" || by.Reason == "" {
		return by, usage("-actor and -reason are required with -yes: they are written into the audit")
	}
	return by, nil
}

// moment reads -until: a time, or a duration from now.
func (f *flags) moment(now time.Time) (time.Time, error) {
	if f.until == "" {
		return time.Time{}, nil
	}
	if d, err := time.ParseDuration(f.until); err == nil && d > 0 {
		return now.Add(d), nil
	}
	t, err := time.Parse(time.RFC3339, f.until)
	if err != nil {
		return t, usage("-until is %.40q, but must be a time (2026-05-01T09:00:00Z) or a duration (90m)", f.until)
	}
	return t, nil
}

// hours reads -from and -to.
func (f *flags) hours() (from, to time.Time, err error) {
	if from, err = time.Parse(time.RFC3339, f.from); err == nil {
		to, err = time.Parse(time.RFC3339, f.to)
	}
	if err != nil || !from.Before(to) {
		return from, to, usage("-from and -to must be times (2026-05-01T09:00:00Z), the first before the second")
	}
	return from, to, nil
}

// alone returns the only argument, or none.
func (f *flags) alone(what string) (string, error) {
	switch len(f.args) {
	case 0:
		return "", nil
	case 1:
		return f.args[0], nil
	}
	return "", usage("give one %s", what)
}

// address reads "email:sam@example.com".
func address(text string) (notify.Destination, error) {
	method, to, ok := strings.Cut(text, ":")
	if !ok || method == "" || to == "" {
		return notify.Destination{}, usage("an address is METHOD:ADDRESS, as in email:sam@example.com")
	}
	return notify.Destination{Method: method, Address: to}, nil
}

// entity reads "employee:17".
func entity(text string) (automation.Source, error) {
	typ, id, ok := strings.Cut(text, ":")
	if !ok || typ == "" || id == "" {
		return automation.Source{}, usage("an entity is TYPE:ID, as in employee:17")
	}
	return automation.Source{Type: typ, ID: id}, nil
}

// separator stands for U+001F of keys, which terminals do not show.
const separator = "␟"

// target is the name of a row on the command line: "Message/…".
func target(k support.Kind, key string) string {
	return string(k) + "/" + strings.ReplaceAll(key, "\x1f", separator)
}

// targets are the arguments.
func (f *flags) targets() (out []support.Target, err error) {
	for _, arg := range f.args {
		kind, key, ok := strings.Cut(arg, "/")
		if !ok || kind == "" || key == "" {
			return nil, usage("%.60q is not a target: give KIND/KEY, as lists print it", arg)
		}
		out = append(out, support.Target{Kind: support.Kind(kind), Key: unprintable(key)})
	}
	return out, nil
}

// need is the cause that -table and -cause name: a reason code or, for dead letters, a
// subscriber.
func (f *flags) need() support.Need {
	n := support.Need{Table: f.table, Reason: f.cause}
	if f.table == "outbox_delivery" {
		n.Name = f.cause
	}
	return n
}

// unprintable turns a printed key back into the key.
func unprintable(key string) string { return strings.ReplaceAll(key, separator, "\x1f") }

// plural is a number with its word.
func plural(n int, word string) string {
	if n == 1 {
		return fmt.Sprintf("1 %s", word)
	}
	return fmt.Sprintf("%d %ss", n, word)
}
