package support

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/survey"
)

// About is the subject of a [Story]: exactly one of its fields.
type About struct {
	// Person is the host's id of a person: the Ref of a recipient, the Person of a
	// candidate, the CustomerRef of a survey's customer.
	Person string
	// Address finds messages to an address that name no recipient.
	Address notify.Destination
	// Entity is what reminders are about.
	Entity automation.Source
	// Key is the key of a reminder, the GUID of a campaign, or the PublicID of a survey's
	// link.
	Key string
	// MessageID is ours, ProviderID the provider's.
	MessageID, ProviderID string
}

// ErrAbout reports an invalid [About] or search text. It contains no part of it.
var ErrAbout = errors.New("support: invalid lookup")

func (a About) check() error {
	said := 0
	for _, is := range []bool{a.Person != "", a.Address != notify.Destination{}, a.Entity != automation.Source{}, a.Key != "", a.MessageID != "", a.ProviderID != ""} {
		if is {
			said++
		}
	}
	switch {
	case said != 1:
		return fmt.Errorf("%w: About needs one of Person, Address, Entity, Key, MessageID and ProviderID", ErrAbout)
	case (a.Address.Method == "") != (a.Address.Address == ""):
		return fmt.Errorf("%w: Address needs Method and Address", ErrAbout)
	case (a.Entity.Type == "") != (a.Entity.ID == ""):
		return fmt.Errorf("%w: Entity needs Type and ID", ErrAbout)
	}
	if a.Address.Address != "" {
		if _, err := channel.NormaliseAddress(a.Address.Method, a.Address.Address); err != nil {
			return fmt.Errorf("%w: %w", ErrAbout, err)
		}
	}
	return checkText(a.Person + a.Address.Method + a.Address.Address + a.Entity.Type + a.Entity.ID + a.Key + a.MessageID + a.ProviderID)
}

// Hit is one result of a search.
type Hit struct {
	About About
	Name  string // of a person, by the Directory
	What  string // for people: what was found, without personal data
}

// Search finds rows and people by a text: a host's id of a person, an address or a phone
// number in any spelling, a key, a message's or a provider's id, or, by the Directory, a
// name. names says whether the Directory is asked. An empty result is not an error. more
// says that only the newest messages were searched for an address, so people with older
// messages there may be missing.
func (d *Desk) Search(ctx context.Context, scope Scope, text string, names bool) (hits []Hit, more bool, err error) {
	f := &finder{core: d.core}
	if hits, err = f.search(ctx, scope, strings.TrimSpace(text), names); err != nil {
		return nil, false, fmt.Errorf("support: Search: %w", err)
	}
	return unique(hits), f.more, nil
}

func (f *finder) search(ctx context.Context, scope Scope, text string, names bool) (hits []Hit, err error) {
	if text == "" {
		return nil, nil
	}
	if err := checkText(text); err != nil {
		return nil, err
	}
	for _, look := range []func(context.Context, Scope, string) ([]Hit, error){f.byID, f.byRef, f.byAddress} {
		found, err := look(ctx, scope, text)
		if err != nil {
			return nil, err
		}
		hits = append(hits, found...)
	}
	if len(hits) == 0 { // a campaign is found as itself, not by its messages
		if hits, err = f.byOrder(ctx, scope, text); err != nil {
			return nil, err
		}
	}
	if names && f.o.Directory != nil {
		people, err := f.o.Directory(ctx, scope, text)
		if err != nil {
			return nil, hooked("Directory", err)
		}
		for _, p := range people {
			hits = append(hits, Hit{About: About{Person: p.Ref}, Name: p.Name, What: "a person of that name"})
		}
	}
	return hits, nil
}

// unique keeps the first hit of each subject.
func unique(hits []Hit) (out []Hit) {
	seen := map[About]int{}
	for _, h := range hits {
		if at, known := seen[h.About]; known {
			out[at].Name = cmp.Or(out[at].Name, h.Name)
			continue
		}
		seen[h.About] = len(out)
		out = append(out, h)
	}
	return out
}

// maxSearch is the limit of a search text, in bytes.
const maxSearch = 1000

// checkText refuses texts that no row can contain.
func checkText(text string) error {
	if len(text) > maxSearch {
		return fmt.Errorf("%w: the text has %d bytes, more than %d", ErrAbout, len(text), maxSearch)
	}
	if strings.ContainsRune(text, 0) || strings.ToValidUTF8(text, "") != text {
		return fmt.Errorf("%w: the text holds a NUL or is not valid UTF-8", ErrAbout)
	}
	return nil
}

// finder searches for one text.
type finder struct {
	*core
	more bool // older messages were not looked at
}

// byID finds a row by its key or id.
func (f *finder) byID(ctx context.Context, scope Scope, text string) (hits []Hit, err error) {
	if f.o.Automation != nil {
		e, err := f.o.Automation.Explain(ctx, scope, text)
		if err != nil {
			return nil, err
		}
		if e.Schedule != nil {
			hits = append(hits, Hit{About: About{Key: text}, What: "a reminder: " + e.Schedule.Type})
		}
	}
	if f.o.Notify != nil {
		messages, err := f.o.Notify.Support().MessagesByID(ctx, scope, text)
		if err != nil {
			return nil, err
		}
		for _, m := range messages {
			hits = append(hits, Hit{About: About{MessageID: m.MessageID}, What: "a message: " + m.NotificationType + " by " + m.Channel})
		}
		c, err := f.campaign(ctx, scope, text)
		if err != nil {
			return nil, err
		}
		if c != nil {
			hits = append(hits, Hit{About: About{Key: text}, What: "a campaign: " + c.Type})
		}
	}
	if f.o.Survey != nil {
		i, _, err := f.o.Survey.Support().Instance(ctx, scope, text)
		if err == nil {
			return append(hits, Hit{About: About{Key: text}, What: fmt.Sprintf("a link of survey %d", i.SurveyID)}), nil
		}
		if !errors.Is(err, storage.ErrNotFound) {
			return nil, err
		}
	}
	return hits, nil
}

// campaign is the progress of a campaign; nil if there is none.
func (c *core) campaign(ctx context.Context, scope Scope, guid string) (*notify.CampaignProgress, error) {
	p, err := c.o.Notify.Campaigns().Progress(ctx, scope, guid)
	var value *storage.ValueError
	switch {
	case errors.Is(err, storage.ErrNotFound), errors.As(err, &value): // it names none
		return nil, nil
	case err != nil:
		return nil, err
	}
	return &p, nil
}

// byRef finds a person who has any row.
func (f *finder) byRef(ctx context.Context, scope Scope, text string) ([]Hit, error) {
	hit := []Hit{{About: About{Person: text}, What: "a person"}}
	one := storage.Page{Limit: 1}
	if f.o.Automation != nil {
		for _, coming := range []bool{false, true} {
			rows, _, err := f.o.Automation.Support().Schedules(ctx, scope, automation.Subject{Person: text}, f.now(), coming, one)
			if err != nil || len(rows) > 0 {
				return hit, err
			}
		}
	}
	if f.o.Notify != nil {
		rows, _, err := f.o.Notify.Support().MessagesOf(ctx, scope, notify.Recipient{Ref: text}, one)
		if err != nil || len(rows) > 0 {
			return hit, err
		}
		jobs, _, err := f.o.Notify.Support().JobsOf(ctx, scope, notify.Recipient{Ref: text}, one)
		if err != nil || len(jobs) > 0 {
			return hit, err
		}
	}
	if f.o.Survey != nil {
		rows, _, err := f.o.Survey.Support().Instances(ctx, scope, survey.Selection{CustomerRef: text}, one)
		if err != nil || len(rows) > 0 {
			return hit, err
		}
	}
	return nil, nil
}

// methods lists the methods that an address may belong to, by its form.
func methodsOf(text string) []string {
	switch {
	case strings.Contains(text, "@"):
		return []string{"email"}
	case strings.ContainsAny(text[:1], "+0123456789("):
		return []string{"sms", "whatsapp"}
	}
	return nil
}

// byAddress finds messages to an address that name no recipient. A text that cannot be
// normalised is not an address.
func (f *finder) byAddress(ctx context.Context, scope Scope, text string) (hits []Hit, err error) {
	if f.o.Notify == nil {
		return nil, nil
	}
	for _, method := range methodsOf(text) {
		at := notify.Destination{Method: method, Address: spelled(method, text)}
		if _, err := channel.NormaliseAddress(method, at.Address); err != nil {
			continue
		}
		rows, _, err := f.o.Notify.Support().MessagesOf(ctx, scope, notify.Recipient{Channel: method, Address: at.Address}, storage.Page{Limit: 1})
		if err != nil {
			return nil, err
		}
		if len(rows) > 0 {
			hits = append(hits, Hit{About: About{Address: at}, What: "an address: " + method})
		}
		people, err := f.peopleAt(ctx, scope, at)
		if err != nil {
			return nil, err
		}
		hits = append(hits, people...)
	}
	return hits, nil
}

// peopleAt lists the recipients of the newest messages to an address.
func (f *finder) peopleAt(ctx context.Context, scope Scope, at notify.Destination) (hits []Hit, err error) {
	normal, err := channel.NormaliseAddress(at.Method, at.Address)
	if err != nil {
		return nil, nil
	}
	for _, spelling := range slices.Compact([]string{normal, strings.ToLower(normal)}) {
		of := notify.Made{From: time.Unix(1, 0), Until: f.now().AddDate(1, 0, 0), Address: spelling}
		rows, next, err := f.o.Notify.Support().MessagesMade(ctx, scope, of, storage.Page{Limit: DefaultPage})
		if err != nil {
			return nil, err
		}
		f.more = f.more || next != ""
		for _, m := range rows {
			if m.RecipientRef != "" {
				hits = append(hits, Hit{About: About{Person: m.RecipientRef}, Name: m.RecipientName, What: "messages by " + m.Method + " went there, the last on " + moment(m.CreatedOn)})
			}
		}
	}
	return unique(hits), nil
}

// byOrder finds messages by the row key of their job, such as the number of an order.
func (f *finder) byOrder(ctx context.Context, scope Scope, text string) (hits []Hit, err error) {
	if f.o.Notify == nil || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' }) {
		return nil, nil
	}
	rows, _, err := f.o.Notify.Support().Messages(ctx, scope, text, storage.Page{Limit: DefaultPage})
	for _, m := range rows {
		hits = append(hits, Hit{About: About{MessageID: m.MessageID}, Name: m.RecipientName, What: "a message: " + m.NotificationType + " by " + m.Channel + " of " + moment(m.CreatedOn)})
	}
	return hits, err
}

// spelled replaces a leading 00 of a phone number by "+".
func spelled(method, text string) string {
	if rest, international := strings.CutPrefix(text, "00"); international && method != "email" {
		return "+" + rest
	}
	return text
}
