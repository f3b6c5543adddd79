package settings

import (
	"context"
	"fmt"
	"slices"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/threshold"
	"github.com/belfry-go/belfry/internal/sweep"
	"github.com/belfry-go/belfry/internal/wiring"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// TargetsFunc loads what sources have now, one answer for each in their order, as an
// automation.TriggerProvider does; automation.Each loads one source at a time.
type TargetsFunc func(ctx context.Context, of []automation.Request) ([]Targets, error)

// Targets are all dates and readings of a source; none of one that is gone.
type Targets struct {
	// Version is that of automation.Answer.
	Version int64
	Targets []Target
}

// Triggers returns the automation.TriggerProvider of a reminder type: it asks targets for
// dates and readings, and makes the candidates of all settings of the type. It speaks for
// all of them, so that rows of a setting that is off, or whose offsets have changed, go.
// The events are those of which it is told. It panics without a type, targets or events.
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

// EventTypes lists the events that it was made for.
func (t *triggers) EventTypes() []string { return t.eventTypes }

// Wanted gives the candidates of every setting of the type for every target.
func (t *triggers) Wanted(ctx context.Context, of []automation.Request) ([]automation.Answer, error) {
	targets, err := t.targets(ctx, of)
	if err == nil && len(targets) != len(of) {
		err = fmt.Errorf("settings: targets of %s: %d answers to %d requests", t.reminder, len(targets), len(of))
	}
	if err != nil {
		return nil, err
	}
	settings := map[automation.Scope][]ReminderSetting{}
	out := make([]automation.Answer, len(of))
	for i, r := range of {
		all, known := settings[r.Scope]
		if !known {
			if all, err = t.settings.ofType(ctx, r.Scope, t.reminder); err != nil {
				return nil, err
			}
			settings[r.Scope] = all
		}
		out[i] = targets[i].answer(all)
	}
	return out, nil
}

// answer is what settings ask for about the targets of a source.
func (of Targets) answer(all []ReminderSetting) automation.Answer {
	a := automation.Answer{Version: of.Version}
	for _, r := range all {
		a.Settings = append(a.Settings, r.ID)
		for _, target := range of.Targets {
			a.Candidates = append(a.Candidates, r.Candidates(target)...)
		}
	}
	return a
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

// Target is what the host knows about a source: a date that reminders count
// towards, what it has measured, or both.
type Target struct {
	// Date is the civil date of the event itself; zero: there is none.
	Date automation.Date
	// Readings are what was measured, whether or not a threshold is met.
	Readings []Reading
	// TriggerKey tells several dates of one source apart; default "default".
	TriggerKey string
	// BusinessUnit is the unit of the source; it may be empty.
	BusinessUnit string
	// Person and Identity are automation.Candidate's.
	Person   string
	Identity map[string]string
}

// Reading is what the host measured of a source, for the thresholds on that
// metric.
type Reading struct {
	Metric string
	// Value is a decimal number.
	Value string
	// Scope is what of the source was measured; empty means all of it.
	Scope string
}

// Candidates are the reminders that r asks for about a target: one for each
// offset from its date, one for each threshold on what was measured, and the
// series of the cadence. A setting that is off, or of another business unit,
// asks for none.
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
			c.Threshold = &threshold.Threshold{
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

// SweepRules are those of the settings.
func (c catalogue) SweepRules() []sweep.Rules { return c.settings.SweepRules() }

// Wiring is that of the settings.
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
		out[i] = found[notify.Question{Scope: q.Scope, Type: q.Type, BusinessUnit: q.BusinessUnit}] // whatever it is about
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
