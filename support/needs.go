package support

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/health"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/survey"
)

// NeedKind is the sort of a cause that needs attention.
type NeedKind string

// The kinds of needs, the most urgent first.
const (
	NeedDoubt    NeedKind = "Doubt"    // it is unknown whether it was sent
	NeedConflict NeedKind = "Conflict" // two requests have one name
	NeedHold     NeedKind = "Hold"     // its retries ended, or a person put it on hold
	NeedDead     NeedKind = "DeadLetter"
	NeedLost     NeedKind = "Lost"      // a series has no next date
	NeedSkipped  NeedKind = "Unplanned" // sources that cannot be planned
	NeedOut      NeedKind = "ChannelOut"
	NeedUnserved NeedKind = "Unserved" // it waits, and this process has no handler for it
	NeedPaused   NeedKind = "Paused"
)

var urgency = []NeedKind{NeedDoubt, NeedConflict, NeedHold, NeedDead, NeedLost, NeedSkipped, NeedOut, NeedUnserved, NeedPaused}

// Need is one cause that needs attention.
type Need struct {
	Kind   NeedKind
	Domain string // "automation", "notify", "survey"
	Table  string // whose rows wait
	// Reason is the code of a hold; Name a channel, a type or a subscriber.
	Reason, Name string
	// Rows is how many rows wait; Capped says that there may be more. Zero if the cause has
	// no rows.
	Rows   int
	Capped bool
	// Since is when it began. For rows on hold and the dead letters of one scope it is when
	// the first was made. Zero: unknown.
	Since time.Time
	// Scope and Everywhere belong to a pause or an outage.
	Scope      Scope
	Everywhere bool
	// What describes it for people, ToDo says what to do.
	What, ToDo string
	// Can lists the possible actions on its rows or on itself.
	Can []Action
}

// Part is the target of the actions if the cause has no rows, such as the subscriber of
// dead letters.
func (n Need) Part() Part {
	if n.Kind != NeedDead {
		return Part{}
	}
	if name, of := strings.CutPrefix(n.Name, "survey/"); of {
		return Part{Domain: "survey", Subscriber: name}
	}
	return Part{Domain: n.Domain, Subscriber: n.Name}
}

// Otherwise is what happens if nothing is done about it.
func (n Need) Otherwise() string {
	switch n.Kind {
	case NeedDoubt:
		return "They are not sent again. Their recipients may not have them."
	case NeedConflict:
		return "The first one stays. The second one is never sent."
	case NeedHold:
		return "They stay as they are, and nothing more is sent."
	case NeedDead:
		return "The subscriber never gets these events."
	case NeedLost:
		return "The series sends no more messages."
	case NeedSkipped:
		return "Nothing is planned for these sources."
	case NeedOut:
		return "Messages wait. Belfry keeps trying, and sends them once the provider accepts."
	case NeedUnserved:
		return "They wait. After their date they are too late."
	}
	return "It waits. After its date it is too late."
}

// DomainHealth is the health of one domain.
type DomainHealth struct {
	Domain string
	health.Summary
}

type domain struct {
	name   string
	health func(context.Context, storage.ScopeFilter) (health.Summary, error)
	coming func(ctx context.Context, scope Scope, after, until time.Time) ([]health.Due, bool, error)
}

func (c *core) domains() (out []domain) {
	if c.o.Automation != nil {
		out = append(out, domain{"automation", c.o.Automation.Health, c.o.Automation.Support().Coming})
	}
	if c.o.Notify != nil {
		out = append(out, domain{"notify", c.o.Notify.Health, c.o.Notify.Support().Coming})
	}
	if c.o.Survey != nil {
		out = append(out, domain{"survey", c.o.Survey.Health, c.o.Survey.Support().Coming})
	}
	return out
}

// unservedAfter is how long work waits before it counts as unserved. It is longer than a
// deployment.
const unservedAfter = 10 * time.Minute

// Health reports the work of all domains and what needs attention: by cause, with its
// number of rows, the most urgent first. Counts are capped as each domain documents. A
// type or channel without a handler in this process is listed once its work has waited
// for ten minutes.
type Health struct {
	Domains []DomainHealth
	Needs   []Need
}

// Health reads the health of one scope or of all.
func (d *Desk) Health(ctx context.Context, reach storage.ScopeFilter) (Health, error) {
	domains, err := d.health(ctx, reach)
	out := Health{domains, needsIn(domains)}
	if scope, one := reach.Scope(); err == nil && one {
		err = lister{d.core}.dateDead(ctx, scope, out.Needs)
	}
	if err != nil {
		return Health{}, fmt.Errorf("support: Health: %w", err)
	}
	return out, nil
}

func (c *core) health(ctx context.Context, reach storage.ScopeFilter) ([]DomainHealth, error) {
	var out []DomainHealth
	for _, of := range c.domains() {
		h, err := of.health(ctx, reach)
		if err != nil {
			return nil, err
		}
		out = append(out, DomainHealth{of.name, h})
	}
	return out, nil
}

// needsIn lists the needs of all domains.
func needsIn(domains []DomainHealth) (out []Need) {
	for _, h := range domains {
		out = append(out, needsOf(h)...)
	}
	out = shared(out)
	slices.SortStableFunc(out, func(a, b Need) int { return slices.Index(urgency, a.Kind) - slices.Index(urgency, b.Kind) })
	return out
}

// dateDead adds the time of each subscriber's first dead letter.
func (l lister) dateDead(ctx context.Context, scope Scope, all []Need) error {
	for i := range all {
		list := l.dead(scope, all[i])
		if all[i].Kind != NeedDead || list == nil {
			continue
		}
		first, _, err := list(ctx, storage.Page{Limit: 1})
		if err != nil {
			return err
		}
		if len(first) > 0 {
			all[i].Since = first[0].made
		}
	}
	return nil
}

// shared removes an outage that two domains report.
func shared(all []Need) []Need {
	type channel struct {
		name       string
		scope      Scope
		everywhere bool
	}
	seen := map[channel]bool{}
	return slices.DeleteFunc(all, func(n Need) bool {
		is := channel{n.Name, n.Scope, n.Everywhere}
		known := n.Kind == NeedOut && seen[is]
		seen[is] = seen[is] || n.Kind == NeedOut
		return known
	})
}

// needsOf lists the needs of one domain.
func needsOf(h DomainHealth) (out []Need) {
	for _, c := range h.Holds {
		n := Need{Kind: NeedHold, Domain: h.Domain, Table: c.Table, Reason: c.Reason, Rows: c.Rows, Capped: c.Capped, Since: c.OldestOn}
		n.Can = []Action{Release, Cancel}
		switch {
		case c.Reason == reasons.OutcomeUnknown || c.Reason == reasons.InDoubt:
			n.Kind, n.Can = NeedDoubt, []Action{Resolve}
		case strings.HasSuffix(c.Reason, "Conflict"):
			n.Kind = NeedConflict
		case c.Reason == reasons.Unserved:
			n.Kind = NeedUnserved
		case c.Table == "automation_scheduler" && c.Reason == reasons.CancelledBySupport:
			continue // a person stopped it for good, so it needs no attention
		}
		n.What = fmt.Sprintf("%s on hold: %s", rowsOf(c.Table), cmp.Or(words[c.Reason], c.Reason))
		n.ToDo = Meaning(giver(c.Reason), c.Reason)
		if n.Kind == NeedDoubt {
			n.ToDo = "Ask the provider or the recipients, then say whether they arrived or are sent again."
		}
		out = append(out, n)
	}
	for _, c := range h.DeadLetters {
		out = append(out, Need{
			Kind: NeedDead, Domain: h.Domain, Table: c.Table, Name: c.Kind, Rows: c.Rows, Capped: c.Capped,
			What: fmt.Sprintf("the subscriber %s did not accept some events", c.Kind), ToDo: replayToDo,
			Can: []Action{Replay},
		})
	}
	for _, l := range h.Lost {
		out = append(out, Need{
			Kind: NeedLost, Domain: h.Domain, Name: l.Kind, Rows: 1, Since: l.Since, Scope: l.Scope,
			What: fmt.Sprintf("the series %s has stopped: it has no next date", l.Kind), ToDo: "Ask an engineer to send the event of its source again, or to reconcile its type.",
		})
	}
	for _, s := range h.Skipped {
		out = append(out, Need{
			Kind: NeedSkipped, Domain: h.Domain, Name: s.Kind, Rows: s.Sources, Since: s.Since, Scope: s.Scope,
			What: fmt.Sprintf("the program cannot plan %s for some sources", s.Kind), ToDo: "Ask an engineer: the program fails for them, or Belfry refuses its request. Maintenance().Reconciliations lists them.",
		})
	}
	for _, o := range h.Outages {
		out = append(out, Need{
			Kind: NeedOut, Domain: h.Domain, Name: o.Channel, Since: o.Since, Scope: o.Scope, Everywhere: o.Everywhere,
			What: stopped(o.Channel, o.Code),
			ToDo: stoppedToDo,
		})
	}
	for _, u := range h.Unserved() {
		if u.OldestOn.IsZero() || h.On.Sub(u.OldestOn) < unservedAfter {
			continue
		}
		out = append(out, Need{
			Kind: NeedUnserved, Domain: h.Domain, Table: u.Table, Name: u.Kind, Rows: u.Rows, Capped: u.Capped, Since: u.OldestOn,
			What: fmt.Sprintf("%s%s wait, and this program does not send them", rowsOf(u.Table), ofKind(u.Table, u.Kind)),
			ToDo: "Ask an engineer to start the program that sends them. If it is running, it is too slow.",
		})
	}
	for _, p := range h.Pauses {
		what := "everything"
		if p.Kind != "" {
			what = p.Kind
		}
		until := "until a person resumes it"
		if !p.Until.IsZero() {
			until = "until " + moment(p.Until)
		}
		out = append(out, Need{
			Kind: NeedPaused, Domain: h.Domain, Table: p.Table, Name: p.Kind, Since: p.Since, Scope: p.Scope, Everywhere: p.Everywhere,
			What: fmt.Sprintf("%s is paused in %s %s", what, h.Domain, until), ToDo: "Resume it when its cause is over.",
		})
	}
	return out
}

// stopped says that a channel has stopped, stoppedToDo what to do about it.
func stopped(channel, code string) string {
	if code == "" {
		return "channel " + channel + " has stopped"
	}
	return "channel " + channel + " has stopped: " + plain(code)
}

const stoppedToDo = "Belfry tries it again by itself. If the provider has revoked our key, ask an engineer for another."

// replayToDo is what to do about dead letters.
const replayToDo = "Ask an engineer to repair the subscriber, then replay its dead letters."

// rowsOf names the rows of a table for people.
func rowsOf(table string) string {
	if name := map[string]string{
		"automation_scheduler": "reminders", "outgoing_message": "messages", "notification_job": "jobs", "notification_scheduler": "schedules of jobs",
		"messaging_job": "campaigns", "survey_instance": "survey links", "outbox_delivery": "events", "delivery_event": "callbacks",
		"automation_reconciliation": "reconciliations", "reminder_setting": "reminder settings", "notification_setting": "notification settings",
		"business_unit": "business units", "user_message": "messages in the inbox", "survey_response": "survey responses", "recipient_preference": "choices of what may be sent",
	}[table]; name != "" {
		return name
	}
	return "rows of " + table
}

// counted is a number of rows of a table for people.
func counted(n int, table string) string {
	if n == 1 {
		return "1 " + rowOf(table)
	}
	return fmt.Sprintf("%d %s", n, rowsOf(table))
}

// Waiting lists the rows of a need in a scope, the oldest first: rows of Table on hold
// for Reason, or the dead letters of Name. Other needs have no rows, which is an error.
// It returns where the next page begins; empty after the last.
func (d *Desk) Waiting(ctx context.Context, scope Scope, n Need, p storage.Page) (out []Entry, next string, err error) {
	list := lister{d.core}.waiting(scope, n)
	if list == nil {
		return nil, "", fmt.Errorf("support: Waiting: %w: a need of kind %.40q has no rows", ErrAbout, n.Table)
	}
	if out, next, err = list(ctx, p); err == nil {
		err = filler{d.core}.audited(ctx, scope, out)
	}
	if err == nil {
		err = filler{d.core}.surveys(ctx, scope, out)
	}
	if err != nil {
		return nil, "", fmt.Errorf("support: Waiting: %w", err)
	}
	return out, next, nil
}

func (l lister) waiting(scope Scope, n Need) func(context.Context, storage.Page) ([]Entry, string, error) {
	switch {
	case n.Table == "automation_scheduler" && l.o.Automation != nil && n.Reason != "":
		return paged(func(ctx context.Context, p storage.Page) ([]automation.Schedule, string, error) {
			return l.o.Automation.Support().Held(ctx, scope, automation.Reason(n.Reason), p)
		}, l.reminder)
	case n.Table == "survey_instance" && l.o.Survey != nil && n.Reason != "":
		return paged(func(ctx context.Context, p storage.Page) ([]survey.Instance, string, error) {
			return l.o.Survey.Support().Instances(ctx, scope, survey.Selection{Held: true, Reason: n.Reason}, p)
		}, linkEntry)
	case n.Table == "outbox_delivery":
		return l.dead(scope, n)
	case l.o.Notify == nil || n.Reason == "":
		return nil
	}
	out := l.o.Notify.Support()
	switch n.Table {
	case "outgoing_message":
		return paged(func(ctx context.Context, p storage.Page) ([]notify.OutgoingMessage, string, error) {
			return out.Held(ctx, scope, n.Reason, p)
		}, messageEntry)
	case "notification_job":
		return paged(func(ctx context.Context, p storage.Page) ([]notify.Job, string, error) {
			return out.HeldJobs(ctx, scope, n.Reason, p)
		}, jobEntry)
	case "notification_scheduler":
		return paged(func(ctx context.Context, p storage.Page) ([]notify.Schedule, string, error) {
			return out.HeldSchedules(ctx, scope, n.Reason, p)
		}, scheduleEntry)
	case "messaging_job":
		return paged(func(ctx context.Context, p storage.Page) ([]notify.MessagingJob, string, error) {
			return out.HeldCampaigns(ctx, scope, n.Reason, p)
		}, campaignEntry)
	}
	return nil
}

// dead lists the dead letters of a subscriber.
func (l lister) dead(scope Scope, n Need) func(context.Context, storage.Page) ([]Entry, string, error) {
	tell := func(l *notify.DeadLetter) Entry {
		return Entry{
			On: l.On, made: l.Since, Kind: KindDead, Outcome: Failed, Type: n.Name, Status: "DeadLetter", Key: l.Event, Detail: l.LastError,
			What: fmt.Sprintf("given up after %d attempts", l.Attempts), ToDo: replayToDo,
			Part: n.Part(), Can: []Action{Replay},
		}
	}
	if name, ofSurvey := strings.CutPrefix(n.Name, "survey/"); ofSurvey && l.o.Survey != nil {
		return paged(func(ctx context.Context, p storage.Page) ([]notify.DeadLetter, string, error) {
			return l.o.Survey.Support().DeadLetters(ctx, scope, name, p)
		}, tell)
	}
	if l.o.Notify == nil {
		return nil
	}
	return paged(func(ctx context.Context, p storage.Page) ([]notify.DeadLetter, string, error) {
		return l.o.Notify.Support().DeadLetters(ctx, scope, n.Name, p)
	}, tell)
}
