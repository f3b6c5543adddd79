package support

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/survey"
)

// Messages lists the messages of a scope that were made in a period, the newest first,
// without their history. A page may be short or empty and still have a next one: see
// [notify.Support.MessagesMade].
func (d *Desk) Messages(ctx context.Context, scope Scope, of notify.Made, p storage.Page) ([]Entry, string, error) {
	if d.o.Notify == nil {
		return nil, "", nil
	}
	p.Limit = cmp.Or(max(p.Limit, 0), DefaultPage)
	out, next, err := paged(func(ctx context.Context, p storage.Page) ([]notify.OutgoingMessage, string, error) {
		return d.o.Notify.Support().MessagesMade(ctx, scope, of, p)
	}, messageEntry)(ctx, p)
	if err == nil {
		err = filler{d.core}.paused(ctx, scope, out)
	}
	if err == nil {
		err = filler{d.core}.occasions(ctx, scope, out)
	}
	if err != nil {
		return nil, "", fmt.Errorf("support: Messages: %w", err)
	}
	return out, next, nil
}

// CountMessages counts the messages of a scope that were made in a period. It reads the
// 10,000 newest; more says that there are others.
func (d *Desk) CountMessages(ctx context.Context, scope Scope, of notify.Made) (out []notify.StageCount, more bool, err error) {
	if d.o.Notify == nil {
		return nil, false, nil
	}
	if out, more, err = d.o.Notify.Support().CountMade(ctx, scope, of); err != nil {
		err = fmt.Errorf("support: CountMessages: %w", err)
	}
	return out, more, err
}

// Now is the time by the store's clock.
func (d *Desk) Now() time.Time { return d.now() }

// Rows returns the entries of targets, in their order, to show them before and after an
// action. Rows of one kind are read together, except campaigns. A target that does not
// exist has only Kind and Key.
func (d *Desk) Rows(ctx context.Context, scope Scope, targets ...Target) ([]Entry, error) {
	keys := map[Kind][]string{}
	for _, t := range targets {
		keys[t.Kind] = append(keys[t.Kind], t.Key)
	}
	found := map[Kind]map[string]Entry{}
	for kind, all := range keys {
		rows, err := teller{d.core}.named(ctx, scope, kind, all)
		if err != nil {
			return nil, fmt.Errorf("support: Rows: %w", err)
		}
		found[kind] = rows
	}
	out := make([]Entry, len(targets))
	for i, t := range targets {
		out[i] = found[t.Kind][t.Key]
		out[i].Kind, out[i].Key = t.Kind, t.Key
	}
	if err := (filler{d.core}).occasions(ctx, scope, out); err != nil {
		return nil, fmt.Errorf("support: Rows: %w", err)
	}
	return out, nil
}

// named reads rows of a kind by their keys.
func (t teller) named(ctx context.Context, scope Scope, kind Kind, keys []string) (map[string]Entry, error) {
	out := map[string]Entry{}
	switch {
	case kind == KindMessage && t.o.Notify != nil:
		rows, err := t.o.Notify.Support().MessagesByKey(ctx, scope, keys...)
		for i := range rows {
			out[rows[i].Key] = messageEntry(&rows[i])
		}
		return out, err
	case kind == KindReminder && t.o.Automation != nil:
		rows, err := t.o.Automation.Support().SchedulesByKey(ctx, scope, keys...)
		for key, row := range rows {
			out[key] = t.reminder(row)
		}
		return out, err
	case kind == KindLink && t.o.Survey != nil:
		rows, _, err := t.o.Survey.Support().Instances(ctx, scope, survey.Selection{PublicIDs: keys}, storage.Page{Limit: len(keys)})
		for i := range rows {
			out[rows[i].PublicID] = linkEntry(&rows[i])
		}
		return out, err
	case kind == KindResponse && t.o.Survey != nil:
		for _, key := range keys {
			w, err := t.o.Survey.Support().Work(ctx, scope, key)
			if err != nil && !errors.Is(err, storage.ErrNotFound) {
				return nil, err
			}
			if err == nil {
				out[key] = t.response(&w)
			}
		}
	case kind == KindCampaign && t.o.Notify != nil:
		for _, key := range keys {
			p, err := t.campaign(ctx, scope, key)
			if err != nil {
				return nil, err
			}
			if p != nil {
				out[key] = progressEntry(p)
			}
		}
	case kind == KindPerson:
		for _, key := range keys {
			p, err := t.person(ctx, scope, key)
			if err != nil {
				return nil, err
			}
			out[key] = Entry{Person: key, Name: p.Name}
		}
	}
	return out, nil
}

// Address is an address of a person, and whether messages may be sent there.
type Address struct {
	Method, Address string // personal
	// Last is the newest message that went there, and On when it was made.
	Last State
	On   time.Time
	// Blocked is the reason code if the address is blocked; empty: it is not. Since says
	// since when, By who blocked it: a provider, or "Support".
	Blocked channel.SuppressionReason
	Since   time.Time
	By      string
}

// Why is the reason in words; empty if it is not blocked.
func (a Address) Why() string {
	switch a.Blocked {
	case "":
		return ""
	case channel.HardBounce:
		return "the address does not exist"
	case channel.Complaint:
		return "its owner reported a mail as spam"
	case channel.Unsubscribe:
		return "its owner unsubscribed"
	}
	return "its owner was erased"
}

// addresses lists the addresses of a person's messages, the last used first.
func (t teller) addresses(ctx context.Context, scope Scope, person string, page []Entry) (out []Address, err error) {
	var ask []notify.Destination
	for _, e := range page {
		at := notify.Destination{Method: channel.Method(e.Channel), Address: e.Address}
		if e.Kind != KindMessage || e.Person != person || e.Address == "" || slices.Contains(ask, at) {
			continue
		}
		ask = append(ask, at)
		out = append(out, Address{Method: at.Method, Address: at.Address, Last: e.State(), On: e.On})
	}
	if len(ask) == 0 {
		return nil, nil
	}
	found, err := t.o.Notify.Contacts().SuppressionsOf(ctx, scope, ask...)
	if err != nil {
		return nil, err
	}
	for i, s := range found {
		out[i].Blocked, out[i].Since, out[i].By = s.Reason, s.Since, s.Source
	}
	return out, nil
}

// person reads a person's name and addresses from the Directory.
func (t teller) person(ctx context.Context, scope Scope, ref string) (Person, error) {
	if t.o.Directory == nil {
		return Person{Ref: ref}, nil
	}
	people, err := t.o.Directory(ctx, scope, ref)
	if err != nil {
		return Person{}, hooked("Directory", err)
	}
	for _, p := range people {
		if p.Ref == ref {
			return p, nil
		}
	}
	return Person{Ref: ref}, nil
}

// Limits of [Desk.LastActions] and [Desk.LastReasons], and of the audit entries that they
// read.
const (
	lastActions  = 3
	maxReasons   = 5
	actionsAmong = 50
)

// LastReasons lists the reasons that people gave for their last actions, each once. They
// are personal data.
func (d *Desk) LastReasons(ctx context.Context, scope Scope) (out []string, err error) {
	last, err := d.actions(ctx, scope)
	for _, e := range last {
		if text := e.Steps[0].Detail; text != "" && len(out) < maxReasons && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out, err
}

// LastActions lists the last actions of people, the newest first.
func (d *Desk) LastActions(ctx context.Context, scope Scope) ([]Entry, error) {
	last, err := d.actions(ctx, scope)
	return last[:min(len(last), lastActions)], err
}

// actions lists the actions of people among the last audit entries.
func (d *Desk) actions(ctx context.Context, scope Scope) ([]Entry, error) {
	last, _, err := d.List(ctx, scope, Audit, storage.Page{Limit: actionsAmong})
	return slices.DeleteFunc(last, func(e Entry) bool { return !e.Steps[0].person }), err
}
