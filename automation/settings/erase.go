package settings

import (
	"context"
	"slices"

	"github.com/belfry-go/belfry/internal/sweep"
	"github.com/belfry-go/belfry/internal/wiring"
	"github.com/belfry-go/belfry/notify"
)

var rewriting = notifications.Rewriting()

// SweepRules are for a Poller, by the scheduler or the notifier that s is given to. An
// erased person is removed from the subscribers of settings, if written there as the Ref,
// as an inbox ("employee:7"), as an entity ("{type}:{id}") or as an address.
func (s *Settings) SweepRules() []sweep.Rules {
	return []sweep.Rules{{Domain: "automation/settings", People: erasures()}}
}

// Wiring names the store of the settings, for a Poller.
func (s *Settings) Wiring() wiring.Service {
	return wiring.Service{Name: "settings.Settings", Self: s, Store: s.store}
}

func erasures() []sweep.Rule {
	return []sweep.Rule{sweep.Erasure[notificationRow]{
		Table: notifications, Rewrites: rewriting, CutFrom: []string{"document"},
		Ways: func(p sweep.Subject) []sweep.Way[notificationRow] {
			return []sweep.Way[notificationRow]{sweep.By(notifications, p.Scope)}
		},
		Judge: func(_ context.Context, p sweep.Subject, _ sweep.At, r *notificationRow) (sweep.Fate, error) {
			others := slices.DeleteFunc(slices.Clone(r.Document.Subscribers), isPerson(p))
			if len(others) == len(r.Document.Subscribers) {
				return sweep.Fate{}, nil
			}
			r.Document.Subscribers = others
			return sweep.Fate{Verdict: sweep.Cut}, nil
		},
		Show: func(_ context.Context, p sweep.Subject, r *notificationRow) (bool, error) {
			is := isPerson(p)
			r.Document.Subscribers = slices.DeleteFunc(r.Document.Subscribers, func(o string) bool { return !is(o) })
			return len(r.Document.Subscribers) > 0, nil
		},
	}.Rule()}
}

// isPerson reports whether a subscriber is the person.
func isPerson(p sweep.Subject) func(subscriber string) bool {
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
		return slices.ContainsFunc(p.Addresses, func(a sweep.Address) bool {
			return is(notify.Recipient{Channel: a.Method, Address: subscriber})
		})
	}
}
