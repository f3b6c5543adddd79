package settings

import (
	"context"
	"slices"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/storage"
)

// TargetsFunc loads the dates that the source of an event has now. It may be
// called from several goroutines and again for the same event, and changes
// nothing; automation.TriggerProvider says how it reads inside a transaction.
type TargetsFunc func(ctx context.Context, e automation.Event) ([]Target, error)

// Triggers returns the automation.TriggerProvider of a reminder type: on the
// events it asks targets for dates, and makes the candidates of all settings of
// the type. It speaks for all of them, so that rows of a setting that is off, or
// whose offsets have changed, go. It panics without a type, targets or events.
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

// EventTypes lists the events that it was made for.
func (t *triggers) EventTypes() []string { return t.eventTypes }

// Candidates are those of every setting for every date.
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

// Settings lists every setting of the type, whether it is on or off.
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
	err := s.inTx(ctx, func(tx storage.Tx) error {
		out = nil
		for p := (Page{Limit: 1000}); ; {
			rows, next, err := listRows(ctx, tx, reminders, scope, reminderType, p)
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
