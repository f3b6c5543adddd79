package support

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/causes"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
)

// Verdict says whether a person got the last message of a type, and if not, why.
type Verdict struct {
	Person  string // personal
	Type    string
	Outcome Outcome // empty: it was never requested
	Reason  string
	// On is the time of that; zero if it was never requested.
	On time.Time
	// Text is a sentence without personal data, ToDo what to do; empty: nothing.
	Text, ToDo string
	Told       string // personal: Text with the host's own reason in place of the reason code's text
	// Entry is the row behind it; nil: none.
	Entry *Entry
}

// maxVerdict is how many rows of a person a verdict reads, verdictPage how many at once.
const (
	maxVerdict  = 500
	verdictPage = 100
)

// Verdict says in a sentence what became of the last reminder, message or survey of a
// type for a person: `did not get "certificate, 7 days before 2026-04-24" on 17 April
// 2026, 08:00 UTC: no recipient or address was on file (NoRecipients)`. It searches what
// happened, then what is planned, then why it was not requested. It reads the 500 newest
// rows of the person.
func (d *Desk) Verdict(ctx context.Context, scope Scope, person, typ string) (Verdict, error) {
	out, err := teller{d.core}.verdict(ctx, scope, person, typ)
	if err != nil {
		return Verdict{}, fmt.Errorf("support: Verdict: %w", err)
	}
	out.Told = cmp.Or(out.Told, out.Text)
	return out, nil
}

func (t teller) verdict(ctx context.Context, scope Scope, person, typ string) (Verdict, error) {
	v := Verdict{Person: person, Type: typ}
	if person == "" || typ == "" {
		return v, fmt.Errorf("%w: a person and a type are required", ErrAbout)
	}
	if err := checkText(person + typ); err != nil {
		return v, err
	}
	of, err := t.last(ctx, scope, person, typ)
	if err != nil {
		return v, err
	}
	if len(of) == 0 {
		return v, t.absent(ctx, scope, &v)
	}
	if err := filler(t).fill(ctx, scope, person, of); err != nil {
		return v, err
	}
	e := &of[0]
	inbox := false
	for _, r := range of[1:] { // the occasion of a message is its reminder's
		if slices.ContainsFunc(r.Messages, func(m MessageState) bool { return m.MessageID == e.MessageID }) {
			e.Occasion = r.Occasion
		}
		inbox = inbox || r.Kind == KindInbox
	}
	v.judge(e)
	if inbox && v.Outcome != Reached {
		v.Text += "; it is in the inbox"
	}
	return v, nil
}

// last finds the last entry of a type that happened, with the inbox entry of the same job
// and its reminder, or else the next planned one.
func (t teller) last(ctx context.Context, scope Scope, person, typ string) (out []Entry, err error) {
	about, at := About{Person: person}, place{Now: t.now()}
	feeds, subjects, err := t.feeds(ctx, scope, about, at.Now)
	if err != nil {
		return nil, err
	}
	for seen := 0; seen < maxVerdict; seen += verdictPage {
		page, next, err := merge(ctx, feeds, at, storage.Page{Limit: verdictPage})
		if err != nil {
			return nil, err
		}
		for i := range page {
			e := page[i]
			copied := len(out) > 0 && e.Kind == KindInbox && e.job == out[0].job
			if e.Type != typ || len(out) > 0 && e.Kind != KindReminder && !copied {
				continue
			}
			out = append(out, e)
			if e.Kind == KindReminder || out[0].Kind != KindMessage {
				return out, nil
			}
		}
		if at = next; at.String() == "" {
			break
		}
	}
	if len(out) > 0 {
		return out, nil
	}
	for _, of := range subjects {
		rows, _, err := t.o.Automation.Support().Schedules(ctx, scope, of, at.Now, true, storage.Page{Limit: verdictPage})
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(rows, func(s automation.Schedule) bool { return s.Type == typ })
		if i >= 0 && (len(out) == 0 || rows[i].ScheduledOn.Before(out[0].On)) {
			out = []Entry{t.reminder(&rows[i])}
		}
	}
	return out, nil
}

// judge writes the sentence.
func (v *Verdict) judge(e *Entry) {
	v.Entry, v.Outcome, v.Reason, v.On, v.ToDo = e, e.Outcome, e.Reason, e.On, e.ToDo
	what := fmt.Sprintf("%q", e.Title())
	because := ""
	if e.Reason != "" {
		because = strings.TrimPrefix(why(e.ReasonBy, e.Reason), "since ")
	}
	if e.bounced {
		because = "it came back"
		if e.Reason != reasons.Bounced {
			because += ": " + reasonText(e.ReasonBy, e.Reason)
		}
	}
	if e.Kind == KindReminder && toOthers(e, v.Person) {
		v.Outcome, v.Reason, v.ToDo = Withheld, "", "The program chooses the recipients on the due day."
		v.Text = fmt.Sprintf("did not get %s on %s: it went to others (%d)", what, moment(e.On), len(e.Messages))
		return
	}
	by := ""
	switch e.Channel {
	case "":
	case "inbox":
		by = " in the inbox"
	default:
		by = " by " + e.Channel
	}
	switch e.Outcome {
	case Reached:
		v.Text = fmt.Sprintf("got %s%s on %s", what, by, moment(e.On))
	case Sent:
		v.Text = fmt.Sprintf("was sent %s%s on %s; no word yet that it arrived", what, by, moment(e.On))
	case Planned:
		v.Text = fmt.Sprintf("has not got %s yet: it comes on %s", what, moment(e.On))
	case UnderWay:
		if inDoubt(e) {
			v.Text = fmt.Sprintf("may have got %s on %s", what, moment(e.On)) + reasonEnd(because)
			return
		}
		v.Text = fmt.Sprintf("has not got %s yet: it is under way", what)
		if because != "" {
			v.Text += ", and waits: " + because
		}
	case NeedsYou:
		v.Text = fmt.Sprintf("has not got %s: it waits for a person", what)
		if inDoubt(e) {
			v.Text = fmt.Sprintf("may have got %s on %s", what, moment(e.On))
		}
		v.Text += reasonEnd(because)
	default:
		end := fmt.Sprintf("did not get %s on %s", what, moment(e.On))
		v.Text = end + reasonEnd(because)
		if !e.withdrawn.IsZero() && because != "" {
			end = fmt.Sprintf("did not get %s, planned for %s: withdrawn on %s", what, moment(e.On), moment(e.withdrawn))
			v.Text = end + ", since " + because
		}
		if e.Said != "" {
			v.Told = end + ": " + strings.TrimSuffix(e.Said, ".")
		}
	}
}

func reasonEnd(because string) string {
	if because == "" {
		return ""
	}
	return ": " + because
}

// toOthers reports whether all messages of a reminder went to other recipients.
func toOthers(e *Entry, person string) bool {
	if len(e.Messages) == 0 || e.More {
		return false
	}
	for _, m := range e.Messages {
		if m.Person == person || m.Person == "" {
			return false
		}
	}
	return true
}

// inDoubt reports whether its outcome is unknown.
func inDoubt(e *Entry) bool {
	return slices.Contains(e.Can, Resolve) || slices.ContainsFunc(e.Messages, func(m MessageState) bool {
		return m.Outcome == NeedsYou && m.Status == notify.StatusOutcomeUnknown
	})
}

// absent says why it was never requested.
func (t teller) absent(ctx context.Context, scope Scope, v *Verdict) error {
	v.Text = fmt.Sprintf("never got %q: the program has not requested it", v.Type)
	if t.o.Automation == nil {
		return nil
	}
	entities, err := t.entities(ctx, scope, v.Person)
	if err != nil {
		return err
	}
	var nearest automation.Absence
	for _, e := range entities {
		a, err := t.o.Automation.ExplainMissing(ctx, scope, v.Type, e)
		if err != nil {
			return err
		}
		if nearest.Cause == "" || a.Cause == causes.NotAskedYet {
			nearest = a
		}
	}
	if nearest.Cause == causes.NoSuchType { // it is not a reminder type, or another program has it
		v.Text, v.ToDo = fmt.Sprintf("never got %q: the program has made no such message for this person", v.Type), "If a job could not make its messages, it is listed under what needs attention; search for its key."
		return nil
	}
	if nearest.Cause != "" {
		v.Text += ": " + nearest.Cause.Words()
		v.Reason = string(nearest.Cause)
	}
	return nil
}
