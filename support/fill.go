package support

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/survey"
)

// maxSteps is the limit of audit entries shown for a row.
const maxSteps = 50

// row names the row of an entry in the audit; zero: it has none.
func (e *Entry) row() audit.Row {
	switch e.Kind {
	case KindReminder:
		return audit.Row{Subject: "automation_scheduler", Key: e.Key}
	case KindMessage:
		return audit.Row{Subject: "outgoing_message", Key: e.Key}
	case KindJob:
		return audit.Row{Subject: "notification_job", Key: e.Key}
	case KindSchedule:
		return audit.Row{Subject: "notification_scheduler", Key: e.Key}
	case KindCampaign:
		return audit.Row{Subject: "messaging_job", Key: e.Key}
	case KindResponse:
		return audit.Row{Subject: "survey_response", Key: e.Key}
	case KindLink:
		return audit.Row{Subject: "survey_instance", Key: e.link.Key}
	}
	return audit.Row{}
}

// filler adds the history to rows.
type filler struct{ *core }

// fill reads the history of the rows of a page, one query for each sort: audit entries,
// messages of reminders, provider events, and the sends of links. Messages of person come
// first.
func (f filler) fill(ctx context.Context, scope Scope, person string, page []Entry) error {
	if err := f.audited(ctx, scope, page); err != nil {
		return err
	}
	if err := f.reminders(ctx, scope, person, page); err != nil {
		return err
	}
	facts, err := f.facts(ctx, scope, page)
	if err != nil {
		return err
	}
	log, err := f.deliveries(ctx, scope, page)
	if err != nil {
		return err
	}
	if err := f.occasions(ctx, scope, page); err != nil {
		return err
	}
	for i := range page {
		e := &page[i]
		switch e.Kind {
		case KindReminder:
			if e.Status == automation.StatusCompleted && f.o.Notify != nil {
				e.Steps = append(e.Steps, Step{On: e.schedule.EndedOn, What: "it came due, and Belfry queued its messages"})
			}
		case KindMessage:
			e.reported(facts[e.MessageID])
		case KindLink:
			e.sends(log[e.Key])
		}
		slices.SortStableFunc(e.Steps, func(a, b Step) int { return a.On.Compare(b.On) })
	}
	return f.paused(ctx, scope, page)
}

// paused marks entries that wait only because of a pause. A pause changes no row.
func (f filler) paused(ctx context.Context, scope Scope, page []Entry) error {
	for _, of := range []struct {
		kind    Kind
		extents func(context.Context, Scope) ([]notify.Extent, error)
	}{{KindMessage, f.pausedMessages}, {KindReminder, f.pausedReminders}, {KindLink, f.pausedMessages}} {
		waits := func(e Entry) bool { return e.Kind == of.kind && e.Outcome == UnderWay && e.Reason == "" }
		if !slices.ContainsFunc(page, waits) {
			continue
		}
		if f.o.Notify == nil && of.kind == KindLink {
			continue
		}
		all, err := of.extents(ctx, scope)
		if err != nil {
			return err
		}
		for i := range page {
			e := &page[i]
			covers := func(x notify.Extent) bool {
				typ := e.Type
				if e.Kind == KindLink {
					typ = survey.NotificationType
				}
				return (x.Type == "" || x.Type == typ) && (x.Channel == "" || x.Channel == e.Channel)
			}
			if waits(*e) && slices.ContainsFunc(all, covers) {
				e.Reason, e.ReasonBy = reasons.Paused, byBelfry
				e.settle()
			}
		}
	}
	return nil
}

func (f filler) pausedMessages(ctx context.Context, scope Scope) (out []notify.Extent, err error) {
	all, err := f.o.Notify.Support().Pauses(ctx, scope)
	for _, p := range all {
		out = append(out, p.Extent)
	}
	return out, err
}

func (f filler) pausedReminders(ctx context.Context, scope Scope) (out []notify.Extent, err error) {
	all, err := f.o.Automation.Support().Pauses(ctx, scope)
	for _, p := range all {
		out = append(out, notify.Extent{Type: p.Type})
	}
	return out, err
}

// audited adds the audit entries: actions of people and programs.
func (f filler) audited(ctx context.Context, scope Scope, page []Entry) error {
	var rows []audit.Row
	for i := range page {
		if row := page[i].row(); row != (audit.Row{}) {
			rows = append(rows, row)
		}
	}
	var told map[audit.Row][]*audit.Entry
	err := f.o.Store.View(ctx, func(from driver.Reader) (err error) {
		told, err = audit.Histories(ctx, from, scope, rows, maxSteps)
		return err
	})
	for i := range page {
		for _, a := range told[page[i].row()] {
			step := Step{On: a.On, What: a.Action, Actor: a.Actor, Detail: a.Reason, person: !a.ByProgram}
			if a.From != a.To && a.From != "" {
				step.What += ": " + a.From + " to " + a.To
			}
			page[i].Steps = append(page[i].Steps, step)
		}
	}
	return err
}

// reminders gives the completed reminders of a page the outcomes of their messages, those
// of person first.
func (f filler) reminders(ctx context.Context, scope Scope, person string, page []Entry) error {
	led, err := f.messages(ctx, scope, page)
	for i := range page {
		if e := &page[i]; err == nil && e.Kind == KindReminder {
			err = f.led(ctx, scope, person, e, led)
		}
	}
	return err
}

// outcomes gives reminders the outcomes that a story has, without their history.
func (f filler) outcomes(ctx context.Context, scope Scope, page []Entry) error {
	if err := f.reminders(ctx, scope, "", page); err != nil {
		return err
	}
	return f.paused(ctx, scope, page)
}

// messages reads the messages of a page's reminders, by their jobs, one more for each
// than is shown.
func (f filler) messages(ctx context.Context, scope Scope, page []Entry) (map[string][]notify.OutgoingMessage, error) {
	var jobs []string
	for i := range page {
		job, err := page[i].ledTo()
		if err != nil {
			return nil, err
		}
		if job != "" {
			jobs = append(jobs, job)
		}
	}
	if len(jobs) == 0 || f.o.Notify == nil {
		return nil, nil
	}
	return f.o.Notify.Support().MessagesOfJobs(ctx, scope, jobs, MaxMessages+1)
}

// ledTo is the row key of a reminder's job; empty: it has none.
func (e *Entry) ledTo() (string, error) {
	if e.Kind != KindReminder || e.Status != automation.StatusCompleted {
		return "", nil
	}
	led, err := e.schedule.Dispatched()
	return led.Notification.RowKey, err
}

// facts reads the delivery events of the messages of a page.
func (f filler) facts(ctx context.Context, scope Scope, page []Entry) (map[string][]notify.DeliveryFact, error) {
	var ids []string
	for _, e := range page {
		if e.Kind == KindMessage {
			ids = append(ids, e.MessageID)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	all, err := f.o.Notify.Support().DeliveryFacts(ctx, scope, ids...)
	out := map[string][]notify.DeliveryFact{}
	for _, fact := range all {
		out[fact.MessageID] = append(out[fact.MessageID], fact)
	}
	return out, err
}

// deliveries reads the sends of the links of a page.
func (f filler) deliveries(ctx context.Context, scope Scope, page []Entry) (map[string][]survey.Delivery, error) {
	var ids []string
	for _, e := range page {
		if e.Kind == KindLink {
			ids = append(ids, e.Key)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	return f.o.Survey.Support().Deliveries(ctx, scope, ids...)
}

// led adds a reminder's messages and their outcomes.
func (f filler) led(ctx context.Context, scope Scope, person string, e *Entry, of map[string][]notify.OutgoingMessage) error {
	if e.Status != automation.StatusCompleted || f.o.Notify == nil {
		return nil
	}
	row := e.schedule
	job, err := e.ledTo()
	if err != nil {
		return err
	}
	messages := of[job]
	if e.More = len(messages) > MaxMessages; e.More {
		messages = messages[:MaxMessages]
	}
	for i := range messages {
		e.Messages = append(e.Messages, stateOf(&messages[i]))
	}
	slices.SortStableFunc(e.Messages, func(a, b MessageState) int { // those of the person first
		switch {
		case person == "" || (a.Person == person) == (b.Person == person):
			return 0
		case a.Person == person:
			return -1
		}
		return 1
	})
	if len(messages) == 0 {
		return f.unmade(ctx, scope, person, row, e)
	}
	e.judge(person)
	return nil
}

// messagesOf lists the messages of a reminder.
func (c *core) messagesOf(ctx context.Context, scope Scope, s *automation.Schedule, p storage.Page) ([]notify.OutgoingMessage, string, error) {
	led, err := s.Dispatched()
	if err != nil || led.Notification.IsZero() || c.o.Notify == nil {
		return nil, "", err
	}
	return c.o.Notify.Support().Messages(ctx, scope, led.Notification.RowKey, p)
}

// judge gives a reminder the outcome of its messages: of the person's own messages, if
// there are any, and of several the furthest one.
func (e *Entry) judge(person string) {
	mine := e.Messages
	if person != "" {
		own := slices.DeleteFunc(slices.Clone(mine), func(m MessageState) bool { return m.Person != person })
		if len(own) > 0 {
			mine = own
		}
	}
	order := []Outcome{Reached, Sent, NeedsYou, UnderWay, Failed, Withheld}
	best := slices.MinFunc(mine, func(a, b MessageState) int {
		return slices.Index(order, a.Outcome) - slices.Index(order, b.Outcome)
	})
	e.Outcome, e.stage, e.Reason, e.ReasonBy, e.Can, e.ToDo = best.Outcome, best.stage, best.Reason, best.by, nil, ""
	e.settle()
}

// unmade says why a completed reminder has no message.
func (f filler) unmade(ctx context.Context, scope Scope, person string, row *automation.Schedule, e *Entry) error {
	led, err := row.Dispatched()
	if err != nil {
		return fmt.Errorf("the messages of %s: %w", e.Kind, err)
	}
	if led.Notification.IsZero() {
		e.Outcome, e.What = Sent, e.Title()+": done" // a host's own handler did it
		return nil
	}
	t, err := f.o.Notify.Trace(ctx, scope, led.Notification)
	if err != nil {
		return err
	}
	switch {
	case len(t.Digests) > 0:
		e.digested(person, t.Digests)
	case len(t.UserMessages) > 0:
		e.Outcome, e.Reason = Reached, ""
		e.settle()
		e.What = e.Title() + ": in the inbox"
	case t.Job != nil && (t.Job.IsOnSupportHold || !t.Job.EndedOn.IsZero()):
		of := jobEntry(t.Job)
		if of.Outcome == Sent { // its messages have been deleted by retention
			e.Outcome, e.What = Sent, e.Title()+": its messages were sent; retention has deleted them since"
			return nil
		}
		e.Outcome, e.Reason, e.ReasonBy = of.Outcome, of.Reason, of.ReasonBy
		e.settle()
	case len(t.Schedules) > 0 && (t.Schedules[0].IsOnSupportHold || !t.Schedules[0].EndedOn.IsZero()) && t.Schedules[0].Status != notify.StatusDispatched:
		of := scheduleEntry(&t.Schedules[0])
		e.Outcome, e.Reason, e.ReasonBy = of.Outcome, of.Reason, of.ReasonBy
		e.settle()
	default:
		e.Outcome, e.Reason = UnderWay, ""
		e.settle()
	}
	return nil
}

// digested is the outcome of a reminder that went into a digest: the person's, or else
// the first.
func (e *Entry) digested(person string, all []notify.InDigest) {
	in := all[max(0, slices.IndexFunc(all, func(d notify.InDigest) bool { return d.RecipientRef == person }))]
	e.Reason, e.ReasonBy, e.NextOn = in.Reason, giver(in.Reason), time.Time{}
	switch {
	case in.Status == notify.StatusCancelled || in.Reason != "":
		e.Outcome = Withheld
	case in.Status == notify.StatusGenerated: // the digest's own message says more
		e.Outcome = Sent
	default:
		e.Outcome, e.NextOn = UnderWay, in.On
	}
	e.settle()
	e.What = e.Title() + ": " + in.String()
}

// reported adds a provider's events to a message.
func (e *Entry) reported(facts []notify.DeliveryFact) {
	for _, f := range facts {
		what := fmt.Sprintf("%s says: %s", f.Provider, said[f.Kind])
		if f.Lasting {
			what += ", for good"
		}
		e.Steps = append(e.Steps, Step{On: f.On, What: what, Reason: f.Code})
	}
}

// said describes provider events in words.
var said = map[channel.StatusKind]string{
	channel.KindBounced: "it came back", channel.KindComplained: "its recipient reported it as spam", channel.KindUnsubscribed: "its recipient unsubscribed",
}

// sends adds the log of a link.
func (e *Entry) sends(log []survey.Delivery) {
	i := e.link
	e.Steps = append(e.Steps, Step{On: i.CreatedOn, What: "made"})
	for _, s := range log {
		what := "send"
		if s.Ordinal > 0 {
			what = fmt.Sprintf("reminder %d", s.Ordinal)
		}
		e.Steps = append(e.Steps, Step{On: s.On, What: fmt.Sprintf("%s by %s: %s", what, s.Channel, s.Status), Reason: s.ReasonCode})
	}
	for _, s := range []Step{{On: i.OpenedOn, What: "opened"}, {On: i.CompletedOn, What: "answered"}, {On: i.DeletedOn, What: "deleted"}} {
		if !s.On.IsZero() {
			e.Steps = append(e.Steps, s)
		}
	}
}
