package cli

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"strings"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/health"
	"github.com/belfry-go/belfry/notify"
)

var replanCommand = &command{
	name: "replan", does: "plan open reminders again, after a setting has changed",
	says: `Marks reminders of a tenant to be planned again, after a setting, zone, calendar or policy
has changed. The mark is a row. The Pollers of your program, which know its types, work it off
page by page; -list says how far they are.`,
	flags: func(f *flags, s *flag.FlagSet) {
		s.StringVar(&f.typ, "type", "", "one reminder `type`; empty: all")
		s.StringVar(&f.setting, "setting", "", "only sources with reminders of this `setting`")
		s.StringVar(&f.unit, "unit", "", "only this business `unit`")
		s.BoolVar(&f.list, "list", false, "list re-plans, and how far they are")
		f.inScope(s)
		f.acts(s)
		f.asJSON(s)
	},
	run: func(c *call, ctx context.Context) error {
		if c.s.Automation == nil {
			return c.elsewhere("this program has no scheduler")
		}
		if c.flags.list {
			return c.replans(ctx)
		}
		return c.replan(ctx)
	},
}

func (c *call) replan(ctx context.Context) error {
	f := &c.flags
	what := automation.Replan{Scope: f.tenant(), Type: f.typ, Setting: f.setting, BusinessUnit: f.unit}
	by, err := f.by()
	if err != nil {
		return err
	}
	if f.yes {
		if err := c.s.Automation.Support().Replan(ctx, what, by); err != nil {
			return err
		}
		if f.json {
			return encode(c.out, what)
		}
		fmt.Fprintf(c.out, "marked: %s; a Poller of your program plans it again\n", printable(what.String()))
		return nil
	}
	if c.s.Bare {
		fmt.Fprintf(c.out, "would mark: %s; only your program can say how many rows change\n", printable(what.String()))
		return errNotDone
	}
	r, err := c.s.Automation.Maintenance().PreviewReplan(ctx, what)
	if err != nil {
		return err
	}
	if f.json {
		return cmp.Or(encode(c.out, r), errNotDone)
	}
	more := ""
	if r.More {
		more = ", and there are more"
	}
	fmt.Fprintf(c.out, "would mark: %s; of %s%s %d rows would be made, %d changed, %d revived, %d ended; %d cannot be planned\n",
		printable(what.String()), plural(r.Scanned, "source"), more, r.Created, r.Updated, r.Reactivated, r.Deactivated, r.Failed)
	return errNotDone
}

func (c *call) replans(ctx context.Context) error {
	all, err := c.s.Automation.Maintenance().Replans(ctx, c.flags.tenant())
	switch {
	case err != nil:
		return err
	case c.flags.json:
		return encode(c.out, all)
	}
	t := table{head: []string{"WHAT", "SINCE", "STATE", "SOURCES", "CHANGED", "FAILED", "WHY"}}
	for _, r := range all {
		state, run := "under way", automation.ReconcileReport{}
		if r.Done {
			state = "done"
		}
		if r.Progress != nil {
			run = *r.Progress
		}
		t.add(r.Replan.String(), moment(r.MarkedOn), state, number(run.Scanned), number(run.Created+run.Updated+run.Reactivated+run.Deactivated),
			number(run.Failed+r.Failures), r.ReasonCode)
	}
	t.print(c.out)
	return nil
}

var previewCommand = &command{
	name: "preview", args: "[SAMPLE]", does: "show a message, made from one of your program's samples",
	says: `Renders a sample as it would be sent. It sends and stores nothing. Without SAMPLE it lists
the samples. It needs your program's types and samples.`,
	flags: func(f *flags, s *flag.FlagSet) {
		s.StringVar(&f.locale, "locale", "", "in another `language`, as in ar")
		f.asJSON(s)
	},
	run: func(c *call, ctx context.Context) error {
		if c.s.Notify == nil || len(c.s.Samples) == 0 {
			return c.elsewhere("this program has no types and samples")
		}
		name, err := c.flags.alone("sample")
		if err != nil {
			return err
		}
		t := table{head: []string{"SAMPLE", "TYPE", "CHANNEL", "LOCALE"}}
		for _, s := range c.s.Samples {
			s.Name = cmp.Or(s.Name, s.Job.Type)
			if name != "" && s.Name == name {
				return c.preview(ctx, s)
			}
			t.add(s.Name, s.Job.Type, s.Recipient.Channel, s.Recipient.Locale)
		}
		switch {
		case name != "":
			return &exit{ExitRefused, fmt.Sprintf("unknown sample %.40q: preview without a name lists them", name)}
		case c.flags.json:
			return encode(c.out, c.s.Samples)
		}
		t.print(c.out)
		return nil
	},
}

func (c *call) preview(ctx context.Context, s Sample) error {
	s.Recipient.Locale = cmp.Or(c.flags.locale, s.Recipient.Locale)
	content, err := c.s.Notify.Preview(ctx, s.Job, s.Recipient)
	switch {
	case err != nil:
		return err
	case c.flags.json:
		return encode(c.out, content)
	}
	c.printContent(content)
	return nil
}

func (c *call) printContent(m notify.Content) {
	lines := func(text string) {
		for line := range strings.Lines(text) {
			fmt.Fprintln(c.out, printable(strings.TrimRight(line, "\r\n")))
		}
	}
	fmt.Fprintf(c.out, "Subject: %s\n", printable(m.Subject))
	for _, a := range m.Attachments {
		fmt.Fprintf(c.out, "Attachment: %s (%s, %d bytes)\n", printable(a.Name), printable(a.MediaType), a.Blob.Size)
	}
	if m.Text != "" {
		fmt.Fprintln(c.out)
		lines(m.Text)
	}
	if m.HTML != "" {
		fmt.Fprint(c.out, "\n--- HTML ---\n")
		lines(m.HTML)
	}
}

var retainCommand = &command{
	name: "retain", does: "what retention would delete now, and how far it is",
	says: `Counts, table by table, what your Retention would delete if its week of notice were over, and
says when it last ran. It reads all old rows and writes none: Pollers delete them, once a day.
It needs your program's types and Retention.`,
	flags: func(f *flags, s *flag.FlagSet) { f.asJSON(s) },
	run: func(c *call, ctx context.Context) error {
		if c.s.Poller == nil {
			return c.elsewhere("this program has no Poller, which knows how long rows are kept")
		}
		all, err := c.retention(ctx)
		if err != nil {
			return err
		}
		switch {
		case c.flags.json:
			return encode(c.out, all)
		case len(all) == 0:
			fmt.Fprintln(c.out, "No retention is set: nothing is deleted.")
		default:
			c.printRetention(all)
		}
		return nil
	},
}

// retention is what would go now, with what was announced and done.
func (c *call) retention(ctx context.Context) ([]health.Retention, error) {
	all, err := c.s.Poller.PreviewRetention(ctx)
	if err != nil {
		return nil, err
	}
	now, err := c.s.Poller.Health(ctx, c.flags.reach())
	for i := range all {
		for _, r := range now.Retention {
			if r.Table == all[i].Table {
				all[i].AnnouncedOn, all[i].From, all[i].BegunOn, all[i].FinishedOn, all[i].Running = r.AnnouncedOn, r.From, r.BegunOn, r.FinishedOn, r.Running
			}
		}
	}
	return all, err
}

func (c *call) printRetention(all []health.Retention) {
	t := table{head: []string{"TABLE", "KEPT FOR", "DELETED", "STUBS", "ANNOUNCED", "FROM", "LAST WALK"}}
	for _, r := range all {
		kept := "always"
		if r.KeptFor > 0 {
			kept = fmt.Sprintf("%.0f days", r.KeptFor.Hours()/24)
		}
		t.add(r.Table, kept, number(r.Deleted), number(r.Tombstones), moment(r.AnnouncedOn), moment(r.From), moment(r.FinishedOn))
	}
	t.print(c.out)
}
