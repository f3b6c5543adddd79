package settings

import (
	"context"
	"fmt"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/notify"
)

// ResolveFunc makes recipients of the subscribers of a setting, which are
// references in the host's own words: people, roles. It may use the setting's
// Channels and Template. It may be called from several goroutines.
type ResolveFunc func(ctx context.Context, n NotificationSetting) ([]notify.Recipient, error)

// Catalogue is the notify.Catalogue of the notification settings (Communication -
// Codebase flow, "What Notification Settings control"): a type without a setting
// is not seeded, and so nothing of it is sent. It panics without resolve.
func (s *Settings) Catalogue(resolve ResolveFunc) notify.Catalogue {
	if resolve == nil {
		panic("settings: Catalogue needs a ResolveFunc")
	}
	return catalogue{s, resolve}
}

type catalogue struct {
	settings *Settings
	resolve  ResolveFunc
}

// Options reads the settings in one statement for each business unit.
func (c catalogue) Options(ctx context.Context, asked []notify.Question) ([]notify.NotificationOption, error) {
	type unit struct {
		scope automation.Scope
		name  string
	}
	types := map[unit][]string{}
	for _, q := range asked {
		u := unit{q.Scope, q.BusinessUnit}
		types[u] = append(types[u], q.Type)
	}
	found := map[notify.Question]NotificationSetting{}
	for u, names := range types {
		all, err := c.settings.NotificationsFor(ctx, u.scope, u.name, names...)
		if err != nil {
			return nil, err
		}
		for name, setting := range all {
			found[notify.Question{Scope: u.scope, Type: name, BusinessUnit: u.name}] = setting
		}
	}
	out := make([]notify.NotificationOption, len(asked))
	for i, q := range asked {
		setting, ok := found[q]
		if !ok {
			continue
		}
		option, err := c.option(ctx, setting)
		if err != nil {
			return nil, fmt.Errorf("settings: subscribers of %.40q: %w", q.Type, err)
		}
		out[i] = option
	}
	return out, nil
}

func (c catalogue) option(ctx context.Context, n NotificationSetting) (notify.NotificationOption, error) {
	out := notify.NotificationOption{Seeded: true, Enabled: n.Enabled}
	if !n.Enabled || len(n.Subscribers) == 0 {
		return out, nil
	}
	var err error
	out.Subscribers, err = c.resolve(ctx, n)
	return out, err
}
