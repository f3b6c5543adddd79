package cli

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/support"
)

var releaseCommand = onRows(support.Release, "end a hold", `Ends the hold of each target. What failed is tried again at once, with a new count of
tries. For a Conflict only the hold ends.`)

var retryCommand = onRows(support.Retry, "try again what failed", `Tries each target again at once, with a new count of tries.`)

var cancelCommand = onRows(support.Cancel, "stop something for good", `Stops each target for good. Only release or retry brings it back.`)

var resolveCommand = onRows(support.Resolve, "decide an unknown outcome", `Decides for each target, a message or a link of unknown outcome, whether it counts as sent
or is sent again. Ask its provider first. "holds" lists them as Doubt.`, decides)

var doubtsCommand = &command{
	name: "doubts", does: "list unknown outcomes by outage; decide all of one",
	says: `Decides for all messages of unknown outcome that one account sent in the hours of an outage
whether they count as sent or are sent again. Without -yes it says how many there are, and
how earlier unknown outcomes of the channel were decided. Without -channel it lists the
outages of the tenant. It is safe to repeat.`,
	flags: func(f *flags, s *flag.FlagSet) {
		s.StringVar(&f.channel, "channel", "", "the `channel` that was called, as in email:smtp")
		s.StringVar(&f.from, "from", "", "calls from this `time` on (2026-05-01T09:00:00Z)")
		s.StringVar(&f.to, "to", "", "and before this `time`")
		s.BoolVar(&f.ownAccount, "own-account", false, "the tenant's own account of the channel instead of the shared one")
		decides(f, s)
		f.anywhere(s)
		f.acts(s)
		f.asJSON(s)
	},
	run: func(c *call, ctx context.Context) error {
		f := &c.flags
		if f.channel == "" {
			return c.doubts(ctx)
		}
		order, err := c.order(support.Resolve)
		if err != nil {
			return err
		}
		from, to, err := f.hours()
		if err != nil {
			return err
		}
		order.Targets = []support.Target{{Part: support.Part{
			Domain: "notify", Channel: f.channel, OwnAccount: f.ownAccount, From: from, Until: to, Everywhere: f.everywhere,
		}}}
		return c.act(ctx, order)
	},
}

// doubts lists the unknown outcomes of a tenant that wait for a decision, by outage.
func (c *call) doubts(ctx context.Context) error {
	if c.flags.everywhere || c.flags.yes {
		return usage("-channel is required: without it outages are listed, for one tenant and without -yes")
	}
	all, more, err := c.desk.Doubts(ctx, c.flags.tenant())
	switch {
	case err != nil:
		return err
	case c.flags.json:
		err = encode(c.out, struct {
			Doubts []support.Outage
			More   bool
		}{all, more})
	case len(all) == 0:
		fmt.Fprintln(c.out, "Nothing.")
	default:
		t := table{head: []string{"CHANNEL", "ACCOUNT", "FROM", "TO", "MESSAGES"}}
		for _, o := range all {
			account := "shared"
			if o.OwnAccount {
				account = "own"
			}
			t.add(o.Channel, account, o.From.UTC().Format(time.RFC3339), o.Until.UTC().Format(time.RFC3339), number(o.Rows))
		}
		t.print(c.out)
		if more {
			fmt.Fprintln(c.out, "There are more: these are among the oldest thousand.")
		}
	}
	if err == nil && len(all) > 0 {
		err = &exit{code: ExitNeedsYou}
	}
	return err
}

// decides adds the flag -as, the decision about an unknown outcome.
func decides(f *flags, s *flag.FlagSet) {
	s.StringVar(&f.decision, "as", "", "`sent` or again")
}

// onRows makes a command that acts on named rows, or on all rows of one cause.
func onRows(action support.Action, does, says string, more ...func(*flags, *flag.FlagSet)) *command {
	return &command{
		name: lower(string(action)), args: "[TARGET…]", does: does,
		says: says + `

A TARGET is KIND/KEY, as lists print it; quote it for your shell. -table and -cause name all
rows of a cause in the tenant instead, at most a thousand. Each target is handled in a
transaction of its own, together with its audit entry. A refused one does not stop the others.`,
		flags: func(f *flags, s *flag.FlagSet) {
			for _, add := range more {
				add(f, s)
			}
			s.StringVar(&f.table, "table", "", "all rows in this `table`")
			s.StringVar(&f.cause, "cause", "", "that wait for this `cause`, as holds lists it")
			f.inScope(s)
			f.acts(s)
			f.asJSON(s)
		},
		run: func(c *call, ctx context.Context) error {
			order, err := c.order(action)
			if err != nil {
				return err
			}
			if order.Targets, err = c.targets(ctx); err != nil {
				return err
			}
			return c.act(ctx, order)
		},
	}
}

func lower(action string) string { return camel(action) }

// order makes an order of the flags.
func (c *call) order(action support.Action) (o support.Order, err error) {
	o = support.Order{Action: action, DryRun: !c.flags.yes}
	if action == support.Resolve {
		decisions := map[string]notify.Decision{"sent": notify.DecideSent, "again": notify.DecideSendAgain}
		if o.Decision = decisions[c.flags.decision]; o.Decision == "" {
			return o, usage("-as must be sent or again")
		}
	}
	if o.Until, err = c.flags.moment(driver.Now(c.s.Store)); err != nil {
		return o, err
	}
	o.By, err = c.flags.by()
	return o, err
}

// most is the limit of rows that one command acts on.
const most = 1000

// targets are the named rows, or all rows of a cause.
func (c *call) targets(ctx context.Context) ([]support.Target, error) {
	f := &c.flags
	named, err := f.targets()
	byCause := f.table != "" || f.cause != ""
	switch {
	case err != nil:
		return nil, err
	case byCause && (len(named) > 0 || f.table == "" || f.cause == ""):
		return nil, usage("give targets, or -table and -cause")
	case !byCause && len(named) == 0:
		return nil, usage("give targets, or -table and -cause")
	case !byCause:
		return named, nil
	}
	var out []support.Target
	for p := (storage.Page{Limit: support.MaxTargets}); len(out) < most; {
		rows, next, err := c.desk.Waiting(ctx, f.tenant(), f.need(), p)
		if err != nil {
			return nil, err
		}
		for _, e := range rows {
			out = append(out, support.Target{Kind: e.Kind, Key: e.Key})
		}
		if p.After = next; next == "" {
			break
		}
	}
	if len(out) == 0 {
		return nil, &exit{ExitRefused, "no rows wait for this cause"}
	}
	return out, nil
}

// act executes an order, or says what it would do.
func (c *call) act(ctx context.Context, o support.Order) error {
	var all []support.Acted
	targets := o.Targets
	for some := range slices.Chunk(targets, support.MaxTargets) {
		o.Targets = some
		acted, err := c.desk.Act(ctx, c.flags.tenant(), o)
		all = append(all, acted...)
		if err != nil {
			return fmt.Errorf("after %s: %w", plural(len(all), "target"), err)
		}
	}
	if c.flags.json {
		if err := encode(c.out, struct {
			Action support.Action
			DryRun bool
			Acted  []support.Acted
		}{o.Action, o.DryRun, all}); err != nil {
			return err
		}
	} else {
		c.printActed(o, all)
	}
	switch {
	case slices.ContainsFunc(all, func(a support.Acted) bool { return !a.Done }):
		return &exit{code: ExitRefused}
	case o.DryRun:
		return errNotDone
	}
	return nil
}

// errNotDone ends a dry run.
var errNotDone error = &exit{ExitNotDone, "dry run: nothing was done. Add -yes, -actor and -reason to do it"}

func (c *call) printActed(o support.Order, all []support.Acted) {
	word := "done"
	if o.DryRun {
		word = "would be done"
	}
	t := table{head: []string{"TARGET", strings.ToUpper(string(o.Action)), "DETAIL"}}
	for _, a := range all {
		what, why := word, a.Refused+a.Effect
		switch {
		case a.NotFound:
			what, why = "not found", "the tenant has no such row"
		case !a.Done:
			what = "refused"
		}
		name := target(a.Kind, a.Key)
		if a.Kind == "" {
			name = partName(a.Part)
		}
		t.add(name, what, why)
	}
	t.print(c.out)
}

// partName is a part of the work in words.
func partName(p support.Part) string {
	what := "all of " + p.Domain
	if p.Type != "" {
		what = p.Domain + ": type " + p.Type
	}
	if p.Channel != "" {
		what = p.Domain + ": channel " + p.Channel
	}
	if p.OwnAccount {
		what += ", the tenant's own account"
	}
	if p.Everywhere {
		what += ", all tenants"
	}
	return what
}

var pauseCommand = onPart(support.Pause, "stop new work from beginning", `Stops new work from beginning, in every process from its next poll on. Work that has begun
goes on. Without -until the pause lasts until resume of exactly the same part.`, func(f *flags, s *flag.FlagSet) {
	s.StringVar(&f.until, "until", "", "end it at this `time` (2026-05-01T09:00:00Z) or after a duration (90m)")
})

var resumeCommand = onPart(support.Resume, "end a pause", `Ends the pause of exactly this part. "health" lists all pauses.`)

// onPart is a command about a part of the work.
func onPart(action support.Action, does, says string, more ...func(*flags, *flag.FlagSet)) *command {
	return &command{
		name: lower(string(action)), does: does,
		says: says + ` The part is a
type, a channel, or all of a domain; in a tenant, or everywhere.`,
		flags: func(f *flags, s *flag.FlagSet) {
			s.StringVar(&f.domain, "domain", "", "`automation` or notify")
			s.StringVar(&f.typ, "type", "", "one `type` of it")
			s.StringVar(&f.channel, "channel", "", "one `channel` of notify, as in email:smtp")
			for _, add := range more {
				add(f, s)
			}
			f.anywhere(s)
			f.acts(s)
			f.asJSON(s)
		},
		run: func(c *call, ctx context.Context) error {
			order, err := c.order(action)
			if err != nil {
				return err
			}
			f := &c.flags
			if f.domain == "" {
				return usage("-domain must be automation or notify")
			}
			order.Targets = []support.Target{{Part: support.Part{Domain: f.domain, Type: f.typ, Channel: f.channel, Everywhere: f.everywhere}}}
			return c.act(ctx, order)
		},
	}
}
