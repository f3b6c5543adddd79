package cli

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/support"
)

// listCommand lists the rows of a kind.
func listCommand(name, does string, of support.List) *command {
	return &command{
		name: name, does: does,
		says: strings.ToUpper(does[:1]) + does[1:] + ". Actions take their targets.",
		flags: func(f *flags, s *flag.FlagSet) {
			f.inScope(s)
			f.pages(s)
			f.asJSON(s)
		},
		run: func(c *call, ctx context.Context) error {
			rows, next, err := c.desk.List(ctx, c.flags.tenant(), of, c.flags.page())
			return c.listed(rows, next, err)
		},
	}
}

var (
	remindersCommand = listCommand("reminders", "all reminders and other due work, by their keys", support.Reminders)
	surveysCommand   = listCommand("surveys", "the links of surveys", support.Links)
	reportsCommand   = listCommand("reports", "the subscriptions of reports", support.Reports)
	auditCommand     = listCommand("audit", "what people and programs did, the newest first", support.Audit)
)

var messagesCommand = &command{
	name: "messages", does: "messages of the last day, or of another span, the newest first",
	says: `Lists the messages that were made in a period, by state, type, unit and channel. A page looks at
up to 10,000 messages of all tenants, so it may be short.`,
	flags: func(f *flags, s *flag.FlagSet) {
		s.StringVar(&f.since, "since", "24h", "made in this `duration` before now (24h), or since a time")
		s.StringVar(&f.state, "state", "", "in this `state`: "+strings.ToLower(strings.Join(stages(), ", ")))
		s.StringVar(&f.typ, "type", "", "of this `type`")
		s.StringVar(&f.unit, "unit", "", "of this business `unit`")
		s.StringVar(&f.channel, "channel", "", "by this `channel`")
		f.inScope(s)
		f.pages(s)
		f.asJSON(s)
	},
	run: func(c *call, ctx context.Context) error {
		now := c.desk.Now()
		from, err := since(c.flags.since, now)
		if err != nil {
			return err
		}
		of := notify.Made{From: from, Until: now.Add(time.Microsecond), Type: c.flags.typ, BusinessUnit: c.flags.unit, Channel: c.flags.channel}
		if c.flags.state != "" {
			at := slices.IndexFunc(notify.Stages(), func(s notify.Stage) bool { return strings.EqualFold(string(s), c.flags.state) })
			if at < 0 {
				return usage("-state is %.40q, but must be one of %s", c.flags.state, strings.ToLower(strings.Join(stages(), ", ")))
			}
			of.Stage = notify.Stages()[at]
		}
		rows, next, err := c.desk.Messages(ctx, c.flags.tenant(), of, c.flags.page())
		return c.listed(rows, next, err)
	},
}

var upcomingCommand = &command{
	name: "upcoming", does: "reminders and reports that are planned, the next first",
	says: `Lists what is planned until a time, or for a duration from now. Later occurrences of what
recurs are listed, too, and have no target yet. Each is checked again before it goes out.`,
	flags: func(f *flags, s *flag.FlagSet) {
		s.StringVar(&f.until, "until", "24h", "before this `time`, or this long from now")
		f.inScope(s)
		f.pages(s)
		f.asJSON(s)
	},
	run: func(c *call, ctx context.Context) error {
		now := c.desk.Now()
		until, err := c.flags.moment(now)
		if err != nil {
			return err
		}
		if !until.After(now) {
			return usage("-until must be in the future")
		}
		rows, next, err := c.desk.Upcoming(ctx, c.flags.tenant(), now, until, true, c.flags.page())
		return c.listed(rows, next, err)
	},
}

var whyCommand = &command{
	name: "why", args: "WHAT", does: "find a row by a key, an id or an order's number, and say why it is so",
	says: `Finds WHAT and says what happened about it. WHAT is a reminder's key, the id of a message or
a link, a provider's id, the key of a job, a person's id, or an address. If several match, it
lists them. The output has personal data: do not share it.`,
	flags: func(f *flags, s *flag.FlagSet) {
		f.inScope(s)
		f.pages(s)
		f.asJSON(s)
	},
	run: func(c *call, ctx context.Context) error {
		what, err := c.flags.alone("key or id")
		if err != nil || what == "" {
			return cmp.Or(err, usage("give a key, an id or an order's number"))
		}
		hits, _, err := c.desk.Search(ctx, c.flags.tenant(), unprintable(what), false)
		switch {
		case err != nil:
			return err
		case len(hits) == 0:
			return fmt.Errorf("found nothing with the key, id, number or address %.60q: %w", what, storage.ErrNotFound)
		case len(hits) > 1:
			return c.found(hits)
		}
		return c.tell(ctx, hits[0].About)
	},
}

// found prints what a search has found.
func (c *call) found(hits []support.Hit) error {
	if c.flags.json {
		return encode(c.out, hits)
	}
	t := table{head: []string{"WHAT", "PERSON", "KEY"}}
	for _, h := range hits {
		t.add(h.What, h.About.Person, strings.ReplaceAll(h.About.Key+h.About.MessageID, "\x1f", separator))
	}
	t.print(c.out)
	return nil
}

// listed prints a page.
func (c *call) listed(rows []support.Entry, next string, err error) error {
	switch {
	case err != nil:
		return err
	case c.flags.json:
		return encode(c.out, struct {
			Rows  []support.Entry
			After string
		}{rows, next})
	}
	c.printEntries(rows)
	c.printNext(next)
	return nil
}

func stages() (out []string) {
	for _, s := range notify.Stages() {
		out = append(out, string(s))
	}
	return out
}

// since reads a moment, or how long ago.
func since(text string, now time.Time) (time.Time, error) {
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return now.Add(-d), nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil || !t.Before(now) {
		return t, usage("-since is %.40q, but must be a time in the past (2026-05-01T09:00:00Z) or a duration (24h)", text)
	}
	return t, nil
}
