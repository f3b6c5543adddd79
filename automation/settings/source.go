package settings

import (
	"context"
	"fmt"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/storage"
)

// Setting returns the reminder setting with that id as a scheduler sees it: Data
// is the [ReminderSetting]. One that does not exist is not Active.
func (s *Settings) Setting(ctx context.Context, scope automation.Scope, id string) (automation.Setting, error) {
	all, err := s.Settings(ctx, scope, []string{id})
	if err != nil {
		return automation.Setting{}, err
	}
	return all[0], nil
}

// Settings is Setting for many ids, in their order and in one statement.
func (s *Settings) Settings(ctx context.Context, scope automation.Scope, ids []string) ([]automation.Setting, error) {
	out := make([]automation.Setting, len(ids))
	err := s.inTx(ctx, func(tx storage.Tx) error {
		rows, err := findAll(ctx, tx, reminders, scope, ids)
		for i, id := range ids {
			out[i] = automation.Setting{ID: id}
			if r, ok := rows[id]; ok {
				out[i].Active, out[i].Data = r.Active, r.setting()
			}
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("settings: %w", err)
	}
	return out, nil
}

// Zone gives the zone of a business unit, for automation.Options. Where there is
// no such unit it is empty, which leaves it to the type.
func (s *Settings) Zone(ctx context.Context, scope automation.Scope, businessUnit string) (string, error) {
	if businessUnit == "" {
		return "", nil
	}
	u, _, err := s.unit(ctx, scope, businessUnit)
	return u.Zone, err
}

// BusinessDay moves a day by the calendar of a business unit, for
// automation.ReminderType. Where there is no such unit the day stays.
func (s *Settings) BusinessDay(ctx context.Context, scope automation.Scope, businessUnit string, d automation.Date) (automation.Date, error) {
	if businessUnit == "" {
		return d, nil
	}
	u, _, err := s.unit(ctx, scope, businessUnit)
	if err != nil {
		return automation.Date{}, err
	}
	moved := u.Calendar.Move(d)
	if moved.IsZero() {
		return automation.Date{}, fmt.Errorf("settings: business unit %.60q has no business day near %s", businessUnit, d)
	}
	return moved, nil
}
