package settings

import (
	"context"
	"slices"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/storage"
)

// SaveReminder inserts a setting (Version zero) or writes one that was read, and
// returns it as it is stored. An [*InvalidError] lists all that is wrong with it,
// a type that changed and a business unit that does not exist included; one that
// somebody else wrote meanwhile is storage.ErrStale. Nothing was written then,
// and a bound transaction stays usable. A setting that is stored already as it is
// wanted is not written, so a call may be repeated.
func (s *Settings) SaveReminder(ctx context.Context, want ReminderSetting) (ReminderSetting, error) {
	var saved ReminderSetting
	f := want.faults()
	if len(s.opts.Types) > 0 && !slices.Contains(s.opts.Types, want.Type) {
		f.Add("Type", "there is no reminder type %.40q", want.Type)
	}
	if f.Has("Scope", "ID") {
		return ReminderSetting{}, f.err("reminder setting", want.ID)
	}
	err := s.inTx(ctx, func(tx storage.Tx) (err error) {
		saved, err = saveReminder(ctx, tx, want, faults{slices.Clone(f.Faults)})
		return err
	})
	if err != nil {
		return ReminderSetting{}, wrap("reminder setting", want.ID, err)
	}
	return saved, nil
}

func saveReminder(ctx context.Context, tx storage.Tx, want ReminderSetting, f faults) (ReminderSetting, error) {
	stored, err := find(ctx, tx, reminders, want.Scope, want.ID)
	if err != nil {
		return ReminderSetting{}, err
	}
	if stored != nil && stored.Type != want.Type {
		f.Add("Type", "is %.40q and cannot change: rows of it are under way", stored.Type)
	}
	if err := f.unit(ctx, tx, want.Scope, want.BusinessUnit); err != nil {
		return ReminderSetting{}, err
	}
	if err := f.err("reminder setting", want.ID); err != nil {
		return ReminderSetting{}, err
	}
	row := want.row(storage.Now(tx.Store()))
	if stored != nil && stored.says(row) {
		return stored.setting(), nil
	}
	if err := put(ctx, tx, reminders, stored, row, want.Version); err != nil {
		return ReminderSetting{}, err
	}
	return row.setting(), nil
}

// says reports whether two rows hold the same setting.
func (r *reminderRow) says(other *reminderRow) bool {
	return r.Type == other.Type && r.Name == other.Name && r.Active == other.Active &&
		r.BusinessUnit == other.BusinessUnit && sameDocument(r.Document, other.Document)
}

// Reminder returns the setting with that id, or storage.ErrNotFound.
func (s *Settings) Reminder(ctx context.Context, scope automation.Scope, id string) (ReminderSetting, error) {
	var found ReminderSetting
	err := s.inTx(ctx, func(tx storage.Tx) error {
		row, err := find(ctx, tx, reminders, scope, id)
		if err == nil && row == nil {
			return storage.ErrNotFound
		}
		if err == nil {
			found = row.setting()
		}
		return err
	})
	return found, wrap("reminder setting", id, err)
}

// Reminders lists the settings of a reminder type, of all types if it is empty,
// and says where the next page begins; empty after the last.
func (s *Settings) Reminders(ctx context.Context, scope automation.Scope, reminderType string, p Page) ([]ReminderSetting, string, error) {
	var out []ReminderSetting
	var next string
	err := s.inTx(ctx, func(tx storage.Tx) error {
		rows, after, err := listRows(ctx, tx, reminders, scope, reminderType, p)
		out, next = nil, after
		for _, r := range rows {
			out = append(out, r.setting())
		}
		return err
	})
	return out, next, err
}

// DeactivateReminder switches a setting off, whoever wrote it last. One that is
// off already is left as it is; one that does not exist is storage.ErrNotFound.
func (s *Settings) DeactivateReminder(ctx context.Context, scope automation.Scope, id string) error {
	err := s.inTx(ctx, func(tx storage.Tx) error {
		return rewrite(ctx, tx, reminders, scope, id, func(r *reminderRow) bool {
			was := r.Active
			r.Active, r.SavedOn = false, storage.Now(tx.Store())
			return was
		})
	})
	return wrap("reminder setting", id, err)
}
