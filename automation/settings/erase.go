package settings

import (
	"context"
	"slices"

	"github.com/belfry-go/belfry/internal/erase"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/notify"
)

var rewriting = notifications.Rewriting()

// Passes are for a Poller, by the scheduler or the notifier that s is given to: the part
// in the erasure of people. Subscribers who are the person are taken out of settings, if
// they are written as the Ref, as an inbox ("employee:7"), as an entity ("{type}:{id}") or
// as an address.
func (s *Settings) Passes() []work.Pass {
	return []work.Pass{erase.Pass(erase.Part{Name: "automation/settings", Rules: erasures})}
}

func erasures() []erase.Rule {
	return []erase.Rule{erase.Of(erase.Spec[notificationRow]{
		Table: notifications, Rewrites: rewriting, CutFrom: []string{"document"},
		Ways: func(p erase.Subject) []erase.Way[notificationRow] {
			return []erase.Way[notificationRow]{erase.By(notifications, p.Scope)}
		},
		Judge: func(_ context.Context, p erase.Subject, _ erase.At, r *notificationRow) (erase.Fate, error) {
			others := slices.DeleteFunc(slices.Clone(r.Document.Subscribers), isPerson(p))
			if len(others) == len(r.Document.Subscribers) {
				return erase.Fate{}, nil
			}
			r.Document.Subscribers = others
			return erase.Fate{Verdict: erase.Cut}, nil
		},
		Show: func(_ context.Context, p erase.Subject, r *notificationRow) (bool, error) {
			is := isPerson(p)
			r.Document.Subscribers = slices.DeleteFunc(r.Document.Subscribers, func(o string) bool { return !is(o) })
			return len(r.Document.Subscribers) > 0, nil
		},
	})}
}

// isPerson tells a subscriber who is the person.
func isPerson(p erase.Subject) func(subscriber string) bool {
	is := notify.IsPerson(p.Person)
	return func(subscriber string) bool {
		if p.Ref != "" && subscriber == p.Ref || slices.Contains(p.Inboxes, subscriber) {
			return true
		}
		for _, e := range p.Entities {
			if subscriber == e.Type+":"+e.ID {
				return true
			}
		}
		return slices.ContainsFunc(p.Addresses, func(a erase.Address) bool {
			return is(notify.Recipient{Channel: a.Method, Address: subscriber})
		})
	}
}
