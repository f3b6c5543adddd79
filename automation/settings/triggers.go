package settings

import (
	"context"
	"fmt"
	"slices"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/internal/sweep"
	"github.com/belfry-go/belfry/internal/wiring"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// TargetsFunc loads the current dates of an event's source. It must be safe for
// concurrent use, may be called again for the same event, and must not change anything.
// automation.TriggerProvider says how it reads inside a transaction.
type TargetsFunc func(ctx context.Context, e automation.Event) ([]Target, error)

// Triggers returns the automation.TriggerProvider of a reminder type. On the events it
// asks targets for dates, and makes the candidates of all settings of the type. Its
// answer is complete, so rows of a setting that is off, or whose offsets have changed,
// are withdrawn. It panics without a type, targets or events.
func (s *Settings) Triggers(reminderType string, targets TargetsFunc, eventTypes ...string) automation.TriggerProvider {
	if reminderType == "" || targets == nil || len(eventTypes) == 0 {
		panic("settings: Triggers needs a reminder type, targets and event types")
	}
	return &triggers{s, reminderType, targets, slices.Clone(eventTypes)}
}

type triggers struct {
	settings   *Settings
	reminder   string
	targets    TargetsFunc
	eventTypes []string
}

var _ automation.SettingLister = (*triggers)(nil)

// EventTypes lists its events.
func (t *triggers) EventTypes() []string { return t.eventTypes }

// Candidates returns the candidates of every setting for every date.
func (t *triggers) Candidates(ctx context.Context, e automation.Event) ([]automation.Candidate, error) {
	targets, err := t.targets(ctx, e)
	if err != nil || len(targets) == 0 {
		return nil, err
	}
	all, err := t.settings.ofType(ctx, e.Scope, t.reminder)
	var out []automation.Candidate
	for _, r := range all {
		for _, target := range targets {
			out = append(out, r.Candidates(target)...)
		}
	}
	return out, err
}

// Settings lists every setting of the type, on or off.
func (t *triggers) Settings(ctx context.Context, e automation.Event) ([]string, error) {
	all, err := t.settings.ofType(ctx, e.Scope, t.reminder)
	ids := make([]string, len(all))
	for i, r := range all {
		ids[i] = r.ID
	}
	return ids, err
}

// ofType loads all settings of a type.
func (s *Settings) ofType(ctx context.Context, scope automation.Scope, reminderType string) ([]ReminderSetting, error) {
	var out []ReminderSetting
	err := s.read(ctx, func(from driver.Reader) error {
		out = nil
		for p := (storage.Page{Limit: driver.MaxPage}); ; {
			rows, next, err := listRows(ctx, from, reminders, scope, reminderType, p)
			for _, r := range rows {
				out = append(out, r.setting())
			}
			if err != nil || next == "" {
				return err
			}
			p.After = next
		}
	})
	return out, err
}

// Target is the host's data of a source: the date of its reminders, its measurements, or
// both.
type Target struct {
	// Date is the civil date of the event itself; zero: none.
	Date automation.Date
	// Readings are all measurements, whether or not they meet a threshold.
	Readings []Reading
	// TriggerKey distinguishes several dates of one source; default "default".
	TriggerKey string
	// BusinessUnit is the unit of the source; it may be empty.
	BusinessUnit string
	// Person and Identity are automation.Candidate's.
	Person   string
	Identity map[string]string
}

// Reading is a measurement of a source, for the thresholds on its metric.
type Reading struct {
	Metric string
	// Value is a decimal number.
	Value string
	// Scope is the measured part of the source; empty: all of it.
	Scope string
}

// Candidates returns the reminders that r makes for a target: one for each offset from
// its date, one for each threshold on its readings, and the series of the cadence. A
// setting that is off, or of another business unit, makes none.
func (r ReminderSetting) Candidates(t Target) []automation.Candidate {
	if !r.Active || r.BusinessUnit != "" && r.BusinessUnit != t.BusinessUnit {
		return nil
	}
	base := automation.Candidate{
		Scope: r.Scope, Type: r.Type, Setting: r.ID, SettingVersion: r.Version, TriggerKey: t.TriggerKey, BusinessUnit: t.BusinessUnit, Person: t.Person, Identity: t.Identity,
	}
	out := r.onDates(base, t.Date)
	out = append(out, r.onThresholds(base, t.Readings)...)
	return append(out, r.onCadence(base)...)
}

var _ automation.SettingAsker = ReminderSetting{}

// Asks is for re-plans and due rows. It returns what the setting makes now for the target
// date or series of a row, and whether the row is among it.
func (r ReminderSetting) Asks(d automation.Due) (c []automation.Candidate, wanted bool) {
	if !r.Active || r.BusinessUnit != "" && r.BusinessUnit != d.BusinessUnit {
		return nil, false
	}
	base := automation.Candidate{Scope: r.Scope, Type: r.Type, Setting: r.ID, SettingVersion: r.Version, TriggerKey: d.TriggerKey, BusinessUnit: d.BusinessUnit}
	switch {
	case d.TriggerType == automation.DateBased:
		return r.onDates(base, d.TargetDate), slices.Contains(r.Offsets, d.DaysBefore)
	case d.TriggerType == automation.Recurring:
		return r.onCadence(base), !r.Cadence.isZero()
	case d.Threshold == nil:
		return nil, true
	}
	return nil, slices.ContainsFunc(r.Thresholds, func(t Threshold) bool { return t.asksFor(*d.Threshold) })
}

// asksFor reports whether the threshold makes firings with the key of another one.
func (t Threshold) asksFor(is automation.Threshold) bool {
	value, err := keys.Decimal(t.Value)
	return err == nil && t.Metric == is.Metric && t.Policy == is.Policy && (t.Policy == keys.OncePerSource || value == is.Value)
}

func (r ReminderSetting) onDates(c automation.Candidate, on automation.Date) (out []automation.Candidate) {
	if on.IsZero() {
		return nil
	}
	c.TargetDate, c.SendAt = on, r.SendAt
	for _, c.DaysBefore = range r.Offsets {
		out = append(out, c)
	}
	return out
}

func (r ReminderSetting) onThresholds(c automation.Candidate, readings []Reading) (out []automation.Candidate) {
	for _, t := range r.Thresholds {
		for _, is := range readings {
			if is.Metric != t.Metric {
				continue
			}
			c.Threshold = &automation.Threshold{
				Metric: t.Metric, Comparison: t.Comparison, Value: t.Value, Policy: t.Policy, Reading: is.Value, Scope: is.Scope,
			}
			out = append(out, c)
		}
	}
	return out
}

func (r ReminderSetting) onCadence(c automation.Candidate) []automation.Candidate {
	if r.Cadence.isZero() {
		return nil
	}
	rule := automation.Recurrence(r.Cadence)
	c.Recurrence = &rule
	if rule.RRule != "" {
		c.SendAt = r.SendAt // a cron expression has its own times
	}
	return []automation.Candidate{c}
}

// ResolveFunc returns the recipients for the subscribers of a setting, which name people
// or roles in the host's own form. It may use the setting's Channels and Template. It
// must be safe for concurrent use.
type ResolveFunc func(ctx context.Context, n NotificationSetting) ([]notify.Recipient, error)

// Catalogue is the notify.Catalogue of the notification settings (Communication -
// Codebase flow, "What Notification Settings control"): a type without a setting is not
// seeded, so it is not sent. It panics without resolve.
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

// SweepRules are the rules of the settings.
func (c catalogue) SweepRules() []sweep.Rules { return c.settings.SweepRules() }

// Wiring is the wiring of the settings.
func (c catalogue) Wiring() wiring.Service { return c.settings.Wiring() }

// Options reads the settings in one statement for each business unit, and resolves the
// subscribers of each once.
func (c catalogue) Options(ctx context.Context, asked []notify.Question) ([]notify.NotificationOption, error) {
	type unit struct {
		scope automation.Scope
		name  string
	}
	types := map[unit][]string{}
	for _, q := range asked {
		if u := (unit{q.Scope, q.BusinessUnit}); !slices.Contains(types[u], q.Type) {
			types[u] = append(types[u], q.Type)
		}
	}
	found := map[notify.Question]notify.NotificationOption{}
	for u, names := range types {
		all, err := c.settings.NotificationsFor(ctx, u.scope, u.name, names...)
		if err != nil {
			return nil, err
		}
		for name, setting := range all {
			option, err := c.option(ctx, setting)
			if err != nil {
				return nil, fmt.Errorf("settings: subscribers of %.40q: %w", name, err)
			}
			found[notify.Question{Scope: u.scope, Type: name, BusinessUnit: u.name}] = option
		}
	}
	out := make([]notify.NotificationOption, len(asked))
	for i, q := range asked {
		out[i] = found[notify.Question{Scope: q.Scope, Type: q.Type, BusinessUnit: q.BusinessUnit}] // independent of the entity
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
