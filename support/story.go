package support

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/internal/sweep"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/survey"
)

// Story is the timeline of a person, an entity or a row: what happened and what is
// planned.
type Story struct {
	About About
	Name  string // personal: of a person, by the Directory
	// Next is what is planned, the next first: at most MaxNext, on the first page only.
	// Reminders that have ended before their time are included. MoreNext says that there are
	// others.
	Next     []Entry
	MoreNext bool
	// Past is one page of what happened, the newest first. After is where the next page
	// begins; empty after the last.
	Past  []Entry
	After string
	// Consent lists the person's preferences, Choices what they get of all messages and of
	// each group, Addresses where their last messages went. On the first page only.
	// Erased says that the person was erased: new messages to them are not sent.
	Erased    bool
	Consent   []notify.Preference
	Choices   []Choice
	Addresses []Address
}

// MaxNext is the limit of planned entries in a story.
const MaxNext = 20

// DefaultPage is the number of entries on a page of a story without a Limit.
const DefaultPage = 20

// Story reads the timeline of a person, an entity or a row: what happened, ended and
// cancelled rows included, and what is planned. Each entry says its outcome, why, and
// what to do. A row that the scope does not have is [storage.ErrNotFound]. A person or an
// entity without rows has an empty story.
//
// A page begins where the previous one ended. Rows that are new or move meanwhile may be
// missed or appear twice. The history of a page's rows is read with it.
func (d *Desk) Story(ctx context.Context, scope Scope, about About, p storage.Page) (Story, error) {
	out, err := teller{d.core}.story(ctx, scope, about, p)
	if err != nil {
		return Story{}, fmt.Errorf("support: Story: %w", err)
	}
	return out, nil
}

// teller reads stories and verdicts.
type teller struct{ *core }

func (t teller) story(ctx context.Context, scope Scope, about About, p storage.Page) (Story, error) {
	out := Story{About: about}
	if err := about.check(); err != nil {
		return out, err
	}
	p.Limit = cmp.Or(max(p.Limit, 0), DefaultPage)
	at, err := parsePlace(p.After)
	if err != nil {
		return out, err
	}
	if about.Key != "" || about.MessageID != "" || about.ProviderID != "" {
		if p.After != "" {
			return out, storage.ErrPage // it has one page
		}
		out.Past, err = t.row(ctx, scope, about)
		return out, err
	}
	if at.Now.IsZero() {
		at.Now = t.now()
	}
	feeds, subjects, err := t.feeds(ctx, scope, about, at.Now)
	if err != nil {
		return out, err
	}
	if p.After == "" {
		if err := t.first(ctx, scope, &out, subjects, at.Now); err != nil {
			return out, err
		}
	}
	out.Past, at, err = merge(ctx, feeds, at, p)
	if err != nil {
		return out, err
	}
	out.After = at.String()
	if err := filler(t).fill(ctx, scope, about.Person, out.Past); err != nil {
		return out, err
	}
	if about.Person != "" && p.After == "" && t.o.Notify != nil {
		out.Addresses, err = t.addresses(ctx, scope, about.Person, out.Past)
	}
	return out, err
}

// first adds the fields of the first page.
func (t teller) first(ctx context.Context, scope Scope, out *Story, subjects []automation.Subject, now time.Time) (err error) {
	for _, of := range subjects {
		rows, next, err := t.o.Automation.Support().Schedules(ctx, scope, of, now, true, storage.Page{Limit: MaxNext})
		if err != nil {
			return err
		}
		tell := t.reminderOf(of, out.About.Person)
		for i := range rows {
			if e := tell(&rows[i]); !e.twin {
				out.Next = append(out.Next, e)
			}
		}
		out.MoreNext = out.MoreNext || next != ""
	}
	slices.SortStableFunc(out.Next, func(a, b Entry) int { return a.On.Compare(b.On) })
	if len(out.Next) > MaxNext {
		out.Next, out.MoreNext = out.Next[:MaxNext], true
	}
	if err := filler(t).fill(ctx, scope, out.About.Person, out.Next); err != nil {
		return err
	}
	person := out.About.Person
	if person == "" {
		return nil
	}
	if t.o.Notify != nil {
		if out.Consent, err = t.o.Notify.Contacts().Preferences(ctx, scope, person); err != nil {
			return err
		}
		out.Choices = t.choices(out.Consent)
		if out.Erased, err = t.o.Notify.Contacts().Erased(ctx, scope, person); err != nil {
			return err
		}
	}
	p, err := t.person(ctx, scope, person)
	out.Name = p.Name
	return err
}

// hooked hides the text of a host hook's error, which may be personal.
func hooked(hook string, err error) error { return &sweep.HookError{Hook: hook, Err: err} }

// feed is one of the lists that make up a story, the newest first.
type feed struct {
	name string // in a place
	read func(ctx context.Context, p storage.Page) ([]Entry, string, error)
}

// own reads a page without what other lists have too: it reads on for these, or what comes
// behind them would be missed.
func (f feed) own(ctx context.Context, p storage.Page) (out []Entry, next string, err error) {
	for left := p.Limit; left > 0; left = p.Limit - len(out) {
		var page []Entry
		if page, next, err = f.read(ctx, storage.Page{After: p.After, Limit: left}); err != nil {
			return nil, "", err
		}
		for _, e := range page {
			if !e.twin {
				out = append(out, e)
			}
		}
		if p.After = next; next == "" {
			break
		}
	}
	return out, next, nil
}

// feeds lists the lists that a story is merged from. Entries of the same time are ordered
// with the effect first: a message before its reminder.
func (t teller) feeds(ctx context.Context, scope Scope, about About, now time.Time) (out []feed, of []automation.Subject, err error) {
	if about.Person != "" && t.o.Survey != nil {
		out = append(out, feed{"links", paged(func(ctx context.Context, p storage.Page) ([]survey.Instance, string, error) {
			return t.o.Survey.Support().Instances(ctx, scope, survey.Selection{CustomerRef: about.Person, NewestFirst: true}, p)
		}, linkEntry)})
	}
	if who := about.recipient(); t.o.Notify != nil && who != (recipient{}) {
		out = append(out, feed{"messages", paged(func(ctx context.Context, p storage.Page) ([]notify.OutgoingMessage, string, error) {
			return t.o.Notify.Support().MessagesOf(ctx, scope, notify.Recipient{Ref: who.ref, Channel: who.channel, Address: who.address}, p)
		}, t.messageWithoutLink)})
		out = append(out, feed{"jobs", paged(func(ctx context.Context, p storage.Page) ([]notify.Job, string, error) {
			return t.o.Notify.Support().JobsOf(ctx, scope, notify.Recipient{Ref: who.ref, Channel: who.channel, Address: who.address}, p)
		}, t.jobWithoutMessages)})
	}
	if about.Person != "" && t.o.Notify != nil {
		for _, box := range []string{"user:", "employee:"} {
			out = append(out, feed{"inbox " + box, paged(t.o.Notify.Inbox(scope, box+about.Person).All, inboxEntry)})
		}
	}
	if t.o.Automation == nil {
		return out, nil, nil
	}
	of, err = t.subjects(ctx, scope, about)
	for _, s := range of {
		out = append(out, feed{"reminders of " + s.Person + " " + s.Source.Type + ":" + s.Source.ID, paged(func(ctx context.Context, p storage.Page) ([]automation.Schedule, string, error) {
			return t.o.Automation.Support().Schedules(ctx, scope, s, now, false, p)
		}, t.reminderOf(s, about.Person))})
	}
	return out, of, err
}

// messageWithoutLink tells of a message. That of a survey's link is told with the link, where a
// person's links are told.
func (t teller) messageWithoutLink(m *notify.OutgoingMessage) Entry {
	e := messageEntry(m)
	e.twin = t.o.Survey != nil && m.Owner == survey.NotificationType && m.RecipientRef != ""
	return e
}

// jobWithoutMessages makes the entry of a job without messages. The job of a reminder is
// shown with the reminder.
func (t teller) jobWithoutMessages(j *notify.Job) Entry {
	e := jobEntry(j)
	e.twin = t.o.Automation != nil && j.SourceKey != ""
	return e
}

// reminderOf makes entries of a subject's reminders. It marks the person's own reminders
// in the list of an entity, since the person's list has them too.
func (t teller) reminderOf(s automation.Subject, person string) func(*automation.Schedule) Entry {
	return func(row *automation.Schedule) Entry {
		e := t.reminder(row)
		e.twin = s.Person == "" && person != "" && row.Person == person
		return e
	}
}

// subjects lists the subjects whose reminders a story contains.
func (t teller) subjects(ctx context.Context, scope Scope, about About) (out []automation.Subject, err error) {
	switch {
	case about.Entity != automation.Source{}:
		return []automation.Subject{{Source: about.Entity}}, nil
	case about.Person == "":
		return nil, nil
	}
	out = append(out, automation.Subject{Person: about.Person})
	entities, err := t.entities(ctx, scope, about.Person)
	for _, e := range entities {
		if of := (automation.Subject{Source: e}); !slices.Contains(out, of) {
			out = append(out, of)
		}
	}
	return out, err
}

func (c *core) entities(ctx context.Context, scope Scope, person string) ([]automation.Source, error) {
	if c.o.Entities == nil {
		return nil, nil
	}
	all, err := c.o.Entities(ctx, scope, person)
	if err != nil {
		return nil, &sweep.HookError{Hook: "Entities", Err: err}
	}
	if len(all) > MaxEntities {
		return nil, fmt.Errorf("Options.Entities returned %d entities, more than %d", len(all), MaxEntities)
	}
	return all, nil
}

// recipient is the recipient whose messages a story contains.
type recipient struct{ ref, channel, address string }

func (a About) recipient() recipient {
	if a.Person != "" {
		return recipient{ref: a.Person}
	}
	return recipient{channel: a.Address.Method, address: a.Address.Address}
}

// paged reads a list as entries.
func paged[R any](list func(context.Context, storage.Page) ([]R, string, error), tell func(*R) Entry) func(context.Context, storage.Page) ([]Entry, string, error) {
	return func(ctx context.Context, p storage.Page) ([]Entry, string, error) {
		rows, next, err := list(ctx, p)
		out := make([]Entry, len(rows))
		for i := range rows {
			out[i] = tell(&rows[i])
		}
		return out, next, err
	}
}

// place is where the next page of a story begins: the position in each list, as of one
// time. Finished lists are left out.
type place struct {
	Now   time.Time         `json:"n"`
	After map[string]string `json:"a"`
}

// String is empty at the end of all lists.
func (p place) String() string {
	if len(p.After) == 0 {
		return ""
	}
	text, err := json.Marshal(p)
	if err != nil {
		panic(err) // it consists of texts
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

func parsePlace(text string) (p place, err error) {
	if text == "" {
		return p, nil
	}
	plain, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(plain, &p)
	}
	if err != nil || p.Now.IsZero() || len(p.After) == 0 {
		return place{}, fmt.Errorf("%w: of a story", storage.ErrPage)
	}
	return p, nil
}

// merge takes the newest entries of the lists and returns the position in each. A page of
// a list that is used in part is read again, since lists only return where a page ends.
func merge(ctx context.Context, feeds []feed, at place, p storage.Page) (out []Entry, next place, err error) {
	next = place{Now: at.Now, After: map[string]string{}}
	pages, after, taken := make([][]Entry, len(feeds)), make([]string, len(feeds)), make([]int, len(feeds))
	for i, f := range feeds {
		begin, open := at.After[f.name]
		if at.After != nil && !open {
			continue // read to its end
		}
		if pages[i], after[i], err = f.own(ctx, storage.Page{After: begin, Limit: p.Size()}); err != nil {
			return nil, next, err
		}
	}
	for len(out) < p.Size() {
		newest := -1
		for i := range feeds {
			if taken[i] < len(pages[i]) && (newest < 0 || pages[i][taken[i]].On.After(pages[newest][taken[newest]].On)) {
				newest = i
			}
		}
		if newest < 0 {
			break
		}
		out = append(out, pages[newest][taken[newest]])
		taken[newest]++
	}
	for i, f := range feeds {
		begin := at.After[f.name]
		switch {
		case taken[i] == 0 && len(pages[i]) > 0:
			next.After[f.name] = begin
		case taken[i] < len(pages[i]):
			if _, after[i], err = f.own(ctx, storage.Page{After: begin, Limit: taken[i]}); err != nil {
				return nil, next, err
			}
			fallthrough
		default:
			if after[i] != "" {
				next.After[f.name] = after[i]
			}
		}
	}
	return out, next, nil
}

// row is the story of one row and its messages.
func (t teller) row(ctx context.Context, scope Scope, about About) ([]Entry, error) {
	var out []Entry
	var err error
	if about.Key != "" {
		out, err = t.byKey(ctx, scope, about.Key)
	} else if t.o.Notify != nil {
		var messages []notify.OutgoingMessage
		messages, err = t.o.Notify.Support().MessagesByID(ctx, scope, cmp.Or(about.MessageID, about.ProviderID))
		for i := range messages {
			if id := messages[i].MessageID; about.MessageID == "" || id == about.MessageID {
				e := messageEntry(&messages[i])
				said := messages[i].Content
				e.Text, e.HTML = said.Text, said.HTML
				e.Letter = &Letter{Locale: said.Locale, Mail: said.Mail, Files: said.Attachments}
				out = append(out, e)
			}
		}
	}
	if err != nil {
		return nil, err
	}
	if len(out) == 0 {
		return nil, storage.ErrNotFound
	}
	return out, filler(t).fill(ctx, scope, "", out)
}

// byKey finds the reminder with its messages, the campaign, or the link of a key.
func (t teller) byKey(ctx context.Context, scope Scope, key string) (out []Entry, err error) {
	if t.o.Automation != nil {
		e, err := t.o.Automation.Explain(ctx, scope, key)
		if err != nil {
			return nil, err
		}
		if e.Schedule != nil {
			first := t.reminder(e.Schedule)
			if first.Outcome == Planned || first.Outcome == UnderWay {
				first.Detail = e.Now
			}
			messages, _, err := t.messagesOf(ctx, scope, e.Schedule, storage.Page{Limit: MaxMessages})
			out = []Entry{first}
			for i := range messages {
				out = append(out, messageEntry(&messages[i]))
			}
			return out, err
		}
	}
	if t.o.Notify != nil {
		p, err := t.campaign(ctx, scope, key)
		if err != nil {
			return nil, err
		}
		if p != nil {
			return []Entry{progressEntry(p)}, nil
		}
	}
	if t.o.Survey != nil {
		i, _, err := t.o.Survey.Support().Instance(ctx, scope, key)
		if err == nil {
			said, err := t.responded(ctx, scope, key)
			return append([]Entry{linkEntry(&i)}, said...), err
		}
		if !errors.Is(err, storage.ErrNotFound) {
			return nil, err
		}
	}
	return nil, nil
}
